# shellcheck shell=bash disable=SC2154  # variables of ./dev and packaged.sh
# The Debian root with ROCm: built once, in stages that survive interruption, and entered.
#
#   $cache/root.partial   being bootstrapped; thrown away if that is interrupted
#   $cache/root           bootstrapped; env/install.sh continues in it where it stopped
#   $cache/root/etc/rocm-perf-lab-root   which package list and script were installed in it, as a hash
#
# Needs $repo, $cache, and the functions of env/common.sh and env/machine.sh.

root=$cache/root
stamp=etc/rocm-perf-lab-root
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
give_ranges="sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)"

# The start of a command line that runs the rest as root of a private mount namespace. Without being root, the user
# namespace maps root to the user and the rest of the ids to those that /etc/subuid grants.
namespace=(unshare --mount --propagation slave)
[ "$(id -u)" = 0 ] || namespace=(unshare --user --map-root-user --map-auto --mount --propagation slave)

# Sets want.
root_is_ready() {
  local have=
  want=$(cat "$repo/env/packages.txt" "$repo/env/install.sh" | sha256sum | cut -c1-16)
  [ ! -f "$root/$stamp" ] || have=$(<"$root/$stamp")
  [ "$want" = "$have" ]
}

ensure_root() {
  local want
  ! root_is_ready || return 0
  expect_packages
  check_namespaces
  [ -d "$root" ] || bootstrap
  stage "Installing ROCm from Debian experimental (about 1.6 GB, a minute or two)" install install_packages "$want"
}

# All that an ordinary user must have installed by others, at once.
expect_packages() {
  local missing=() ranges=
  [ "$(id -u)" != 0 ] || return 0
  on_path newuidmap || missing+=(uidmap)
  [ -d "$root" ] || on_path mmdebstrap || missing+=(mmdebstrap)
  [ -d "$root" ] || [ -f "$keyring" ] || [ "${ROCM_PERF_DEV_UNVERIFIED:-}" = 1 ] || missing+=(debian-archive-keyring)
  [ ${#missing[@]} != 0 ] || return 0
  grep -qsE "^($(id -un)|$(id -u)):" /etc/subuid && grep -qsE "^($(id -un)|$(id -u)):" /etc/subgid || ranges="; $give_ranges"
  die "this machine has not: ${missing[*]}" "sudo apt install ${missing[*]}$ranges; or run $me as root; or use env/Containerfile"
}

check_namespaces() {
  "${namespace[@]}" true 2>/dev/null && return
  if [ "$(id -u)" = 0 ]; then
    die "root here may not create a mount namespace (a container without CAP_SYS_ADMIN?)" \
      "use the container image instead, see env/Containerfile, or run $me on a machine with ROCm 7.1 or newer"
  fi
  die "this user may not create a user namespace with a range of ids" \
    "$give_ranges; or run $me as root; or use env/Containerfile"
}

# --- Stage 1: a minimal Debian sid -----------------------------------------------------------------------------------

bootstrap() {
  local tool signed_by=$keyring
  tool=$(bootstrap_tool)
  if [ ! -f "$keyring" ] && [ "${ROCM_PERF_DEV_UNVERIFIED:-}" != 1 ]; then
    install_on_machine debian-archive-keyring "$keyring"
  fi
  if [ "${ROCM_PERF_DEV_UNVERIFIED:-}" = 1 ]; then
    echo "$me: ROCM_PERF_DEV_UNVERIFIED=1: the signature of Debian's package lists is NOT checked" >&2
    signed_by=
  fi
  stage "Debian base system from $mirror (about half a minute)" base "bootstrap_with_$tool" "$signed_by"
}

# debootstrap where possible; it needs real root. mmdebstrap makes a root file system without being root.
bootstrap_tool() {
  if [ "$(id -u)" = 0 ]; then
    if ! on_path debootstrap && ! on_path mmdebstrap; then install_on_machine debootstrap; fi
    if on_path debootstrap; then echo debootstrap; else echo mmdebstrap; fi
  else
    echo mmdebstrap # expect_packages has seen it
  fi
}

on_path() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null; }

# $1: a package of this machine's own distribution; $2: a file that it should bring.
install_on_machine() {
  if [ "$(id -u)" = 0 ] && on_path apt-get; then
    stage "Installing $1 on this machine" "machine-$1" apt_get_install "$1" >&2
  fi
  if ! on_path "$1" && { [ -z "${2:-}" ] || [ ! -f "$2" ]; }; then
    die "$1 is not installed" "install it with the package manager of this machine, or use env/Containerfile"
  fi
}

apt_get_install() {
  apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$1"
}

bootstrap_with_debootstrap() {
  local check=--no-check-gpg
  [ -z "$1" ] || check="--force-check-gpg --keyring=$1"
  remove_root "$root.partial"
  # In a mount namespace, because debootstrap mounts /proc in its target and a killed one leaves it mounted.
  # shellcheck disable=SC2086
  "${namespace[@]}" env PATH="$PATH:/usr/sbin:/sbin" http_proxy="${http_proxy:-$(http_proxy_of_apt)}" \
    debootstrap --variant=minbase $check sid "$root.partial" "$mirror"
  mv "$root.partial" "$root"
}

bootstrap_with_mmdebstrap() {
  local mode=root source="deb $mirror sid main"
  local options=(--variant=minbase --aptopt='Acquire::Check-Valid-Until "false"')
  [ "$(id -u)" = 0 ] || mode=unshare
  if [ -n "$1" ]; then options+=(--keyring="$1"); else source="deb [trusted=yes] $mirror sid main"; fi
  remove_root "$root.partial"
  mkdir -p "$root.partial"
  # By way of an archive: mmdebstrap maps ids differently from the namespace that the root is entered by.
  set -o pipefail
  mmdebstrap --quiet --mode="$mode" --format=tar "${options[@]}" sid - "$source" |
    "${namespace[@]}" tar -x --numeric-owner --same-permissions --exclude='./dev/*' -C "$root.partial"
  mv "$root.partial" "$root"
}

# In the namespace, as files may belong to mapped ids; nothing is ever mounted in it, and rm checks that again.
remove_root() { [ ! -e "$1" ] || "${namespace[@]}" rm -rf --one-file-system "$1"; }

# --- Stage 2: the packages -------------------------------------------------------------------------------------------

# $1: what to record in the stamp
install_packages() {
  local transport=$cache/apt-transport.conf
  apt_transport >"$transport"
  in_root / --copy "$transport" /etc/apt/apt.conf.d/80machine -- "$repo/env/install.sh" "$mirror"
  # shellcheck disable=SC2016
  in_root / -- sh -c 'echo "$1" >"/$2.new" && mv "/$2.new" "/$2"' sh "$1" "$stamp"
}

# --- Entering --------------------------------------------------------------------------------------------------------

# in_root FOLDER [options of enter.sh]... -- COMMAND...
in_root() {
  enter_command "$@"
  "${enter[@]}"
}

# Sets enter to the command line, for callers that exec it.
enter_command() {
  local folder=$1
  shift
  enter=("${namespace[@]}" "$repo/env/enter.sh" "$root" "$folder" "${views[@]}" "$@")
}

# What of this machine is visible inside, as options of enter.sh. Programs to profile and their data live anywhere in the
# user's home and on what is mounted for data, so all of it is; the rest is what configuration points to.
views=()
collect_views() {
  local path
  while read -r path; do view_mount "$path"; done < <(data_mounts /proc/self/mountinfo)
  for path in "$HOME" /tmp "${TMPDIR:-}" "$cache" "$repo" "$PWD"; do view rw "$path"; done
  for path in "$repo/../shared" "${RPL_SHARED:-}"; do view ro "$path"; done
  views+=(--copy /etc/resolv.conf /etc/resolv.conf --copy /etc/hosts /etc/hosts)
  path=$(certificate_bundle)
  [ -z "$path" ] || views+=(--copy "$path" /etc/ssl/certs/ca-certificates.crt)
  while read -r path; do views+=(--copy "$path" "$path"); done < <(certificate_files)
  while read -r path; do view ro "$path"; done < <(pip_config_files; pip_local_paths | except_certificates)
}

except_certificates() { grep -vxF -f <(certificate_files; certificate_bundle) || true; }

# A mount point: also one that has the name of a system folder (/srv, /mnt). A file server that is gone is waited for 2 s.
view_mount() {
  timeout 2 stat -t -- "$1" >/dev/null 2>&1 && [ -d "$1" ] || return 0
  writable+=("$1") views+=(--rw "$1")
}

# $1: rw or ro; $2: a path. Skips what is visible already and the system folders, of which the root has its own.
view() {
  local mode=$1 path shown
  path=$(realpath -e -- "$2" 2>/dev/null) || return 0
  case $path in
    / | /bin | /boot | /home | /lib* | /mnt | /opt | /run | /sbin | /srv | /var) return ;;
    /usr | /usr/* | /etc | /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) [ -f "$path" ] || return 0 ;;
  esac
  if [ "$mode" = rw ]; then
    for shown in "${writable[@]}"; do [[ $path/ != "$shown"/* ]] || return 0; done
    writable+=("$path")
  fi
  views+=("--$mode" "$path")
}
writable=()
