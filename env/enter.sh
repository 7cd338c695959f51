#!/usr/bin/env bash
# Runs a command in a root file system, with chosen folders of this machine visible at the same paths.
#
#   enter.sh ROOT FOLDER [--rw PATH | --ro PATH | --copy FROM TO]... -- COMMAND [ARGUMENT]...
#
# To be started as root (or as the mapped root of a user namespace) in a mount namespace of its own: what it mounts
# disappears with the command and is never seen by the rest of the machine, so removing ROOT can never reach through
# a mount. Nothing stays between the caller and COMMAND: same process, so signals and the exit code need no passing.
set -euo pipefail
root=$1 folder=$2
shift 2

show() {
  local mode=$1 path=$2
  if [ -d "$path" ]; then
    mkdir -p "$root$path"
    mount --rbind "$path" "$root$path"
  elif [ -e "$path" ]; then
    mkdir -p "$(dirname "$root$path")"
    [ -e "$root$path" ] || : >"$root$path"
    mount --bind "$path" "$root$path"
  else
    return 0
  fi
  # Best effort: a user namespace may not change the flags of some mounts, and file permissions hold anyway.
  if [ "$mode" = ro ]; then mount -o remount,bind,ro "$root$path" 2>/dev/null || true; fi
}

copy() {
  [ -f "$1" ] || return 0
  cmp -s "$1" "$root$2" && return 0
  mkdir -p "$(dirname "$root$2")"
  # A temporary name: another ./dev may be reading the file.
  cp -L "$1" "$root$2.$$" && mv -f "$root$2.$$" "$root$2"
}

# A mount point of its own, or programs inside could not make mount namespaces in turn.
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
  case $1 in
    --rw) show rw "$2" && shift 2 ;;
    --ro) show ro "$2" && shift 2 ;;
    --copy) copy "$2" "$3" && shift 3 ;;
    *) echo "enter.sh: unknown option $1" >&2 && exit 64 ;;
  esac
done
shift
# After the folders above: ROOT may lie below one of them, which would then show these a second time.
for path in /proc /sys /dev; do mount --rbind "$path" "$root$path"; done

# What belongs to the machine's own programs must not reach those of the root.
unset LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH PYTHONHOME PYTHONSTARTUP VIRTUAL_ENV CONDA_PREFIX PYENV_VERSION PERL5LIB \
  CC CXX CFLAGS CXXFLAGS LDFLAGS CPATH LIBRARY_PATH CMAKE_PREFIX_PATH PKG_CONFIG_PATH ROCM_PATH HIP_PATH LANGUAGE
# The machine's root is left for good, not only out of reach: in a mere chroot nobody may make user namespaces, which
# programs that protect themselves need. Where the machine runs from its initial ramdisk there is but the chroot.
machine_path=$PATH:/usr/sbin:/sbin
cd "$root"
# shellcheck disable=SC2016
enter='cd "$1" && shift && exec "$@"'
export LC_ALL=C.UTF-8 PATH="${ENTER_PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
unset ENTER_PATH
if PATH=$machine_path pivot_root . mnt 2>/dev/null; then
  /bin/umount --lazy /mnt
  exec /bin/sh -c "$enter" sh "$folder" "$@"
fi
exec "$(PATH=$machine_path command -v chroot)" . /bin/sh -c "$enter" sh "$folder" "$@"
