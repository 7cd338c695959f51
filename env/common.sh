# shellcheck shell=bash disable=SC2034,SC2154  # variables of those that source it
# What ./dev and the installed package (packaged.sh) share: messages, stages with a log, and the lock.
#
# Needs $me (the command to name in messages), $repo and, in stages, $cache and $mirror.

# die WHAT [FIX]
die() {
  printf '%s: %s\n' "$me" "$1" >&2
  [ -z "${2:-}" ] || printf '  fix: %s\n' "$2" >&2
  exit 69
}

# stage TITLE NAME COMMAND...: one line for people, everything else into a log, and on failure where to look.
stage() {
  printf '%s: %s ...\n' "$me" "$1" >&2
  logged "$@"
  printf '%s:   done in %d s\n' "$me" "$seconds" >&2
}

# The same for what mostly has nothing to do: silent unless it takes more than a second.
stage_if_slow() {
  (
    # A shell builtin that waits: a sleep would live on, holding the terminal and the lock.
    read -rt 1 <> <(:) || true
    ! kill -0 $$ 2>/dev/null || printf '%s: %s ...\n' "$me" "$1" >&2
  ) &
  local announcer=$!
  logged "$@"
  if kill $announcer 2>/dev/null; then
    wait $announcer 2>/dev/null || true
  else
    printf '%s:   done in %d s\n' "$me" "$seconds" >&2
  fi
}

# Sets seconds to the time that it took.
logged() {
  local title=$1 log=$cache/log/$2.log begin=$SECONDS
  shift 2
  # In a subshell of its own, with errexit on, which a condition would switch off for all of it.
  set +e
  (set -e; "$@") >"$log" 2>&1 </dev/null
  local code=$?
  set -e
  if [ $code != 0 ]; then
    printf '%s: failed: %s\n' "$me" "$title" >&2
    tail -n 12 "$log" | sed 's/^/  | /' >&2
    die "the whole log is $log" "$(hint "$log"); running $me again continues here"
  fi
  seconds=$((SECONDS - begin))
}

# The usual fix for what the log shows.
hint() {
  if grep -qiE 'signed by unknown key|NO_PUBKEY|missing key|keyring file not' "$1"; then
    echo "update debian-archive-keyring on this machine (or, knowing the risk, set ROCM_PERF_DEV_UNVERIFIED=1)"
  elif grep -qiE "couldn't (be )?download|failed (getting|to fetch)|could not resolve|unable to connect|connection|timed out|404 +not found" "$1"; then
    echo "check network and proxy, and that $mirror can be reached (or name another by ROCM_PERF_DEBIAN_MIRROR)"
  elif grep -qiE 'no space left' "$1"; then
    echo "make room in $cache, or set XDG_CACHE_HOME to a folder with 3 GB free"
  elif grep -qiE 'no matching distribution|could not find a version' "$1"; then
    echo "check pip's index settings (pip config list)"
  else
    echo "see the log"
  fi
}

# lock FILE: two at a time would build in the same folders. A further lock gives the earlier one back; the last
# descriptor is closed before the user's command runs.
lock() {
  exec 9>>"$1"
  flock --nonblock 9 && return
  echo "$me: waiting for another one that is preparing ..." >&2
  flock 9
}

unlock() { exec 9>&-; }

# What hipcc, CMake's HIP language and rocm_agent_enumerator build for where nothing names a GPU: they look for one, and
# finding none hipcc takes gfx906, which the software device is not.
name_default_target() {
  [ ! -e /dev/kfd ] || return 0
  export HCC_AMDGPU_TARGET=${HCC_AMDGPU_TARGET:-gfx942} ROCM_TARGET_LST=${ROCM_TARGET_LST:-$repo/env/targets.txt}
}
