#!/usr/bin/env bash
# For the installed package: what ./dev is for a clone. `rocm-perf setup` and `rocm-perf shell` start a copy of it.
#
#   packaged.sh setup WHEEL[EXTRAS]     make the Debian root with ROCm, and install the wheel in it
#   packaged.sh run FOLDER COMMAND...   run a command there, in that folder
#
# Beside it in its folder are the other files of env/; the folder above it holds the wheel, and is visible in the root.
set -euo pipefail
umask 022
repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=$(dirname -- "$repo")
me="rocm-perf setup"
# shellcheck source=env/common.sh
. "$repo/env/common.sh"
# shellcheck source=env/machine.sh
. "$repo/env/machine.sh"
# shellcheck source=env/root.sh
. "$repo/env/root.sh"
venv=$cache/venv/package
mirror=${ROCM_PERF_DEBIAN_MIRROR:-$(debian_mirror "$(apt_folder)")}

setup() {
  mkdir -p "$cache/log" "$cache/venv"
  lock "$cache/lock"
  [ -n "$mirror" ] || die "apt's configuration names no Debian mirror" "name one: ROCM_PERF_DEBIAN_MIRROR=URL"
  collect_views
  ensure_root
  [ "$(cat "$venv/.installed" 2>/dev/null)" = "$(wanted "$1")" ] ||
    stage "Python packages in it (pip install rocm-perf-lab)" package-python make_venv "$1"
  unlock
}

# What the Python environment is made from.
wanted() { printf '%s %s %s\n' "$1" "$(sha256sum <"${1%[*}")" "$(<"$root/$stamp")"; }

make_venv() {
  rm -rf -- "$venv"
  in_root / -- python3 -m venv "$venv"
  in_root / -- "$venv/bin/python" -m pip install --progress-bar off "$1"
  wanted "$1" >"$venv/.installed"
}

# Becomes the command, so signals, terminal and exit code are its own.
run() {
  local folder=$1
  shift
  collect_views
  export VIRTUAL_ENV=$venv ENTER_PATH=$venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  name_default_target
  enter_command "$folder" -- "$@"
  exec "${enter[@]}"
}

HOME=$(realpath -- "$HOME")
case ${1:-} in
  setup | run) "$@" ;;
  *) sed -n '4,5s/^# *//p' "$0" >&2 && exit 64 ;;
esac
