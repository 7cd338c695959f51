# shellcheck shell=bash
# What this machine is configured with, found by reading its configuration: which Debian mirror, proxies,
# certificates and Python package indexes it uses, and whether it has a ROCm of its own. Functions only; they print
# what they find, one item a line, and change nothing.

# --- Debian mirror -------------------------------------------------------------------------------------------------

# "uri suite component..." for every enabled binary source in apt's configuration folder $1.
apt_sources() {
  local file
  for file in "$1/sources.list" "$1"/sources.list.d/*.list; do
    [ -f "$file" ] && sed -nE 's/#.*//; s/^[[:space:]]*deb[[:space:]]+(\[[^]]*\][[:space:]]*)?//p' "$file"
  done
  for file in "$1"/sources.list.d/*.sources; do
    [ -f "$file" ] && deb822_sources "$file"
  done
  return 0
}

# The same for one file in deb822 form: paragraphs of "Field: value", where a value may continue on indented lines.
deb822_sources() {
  awk '
    function flush(   u, s, uris, suites, i, j) {
      if ((" " field["types"] " ") ~ /[ \t]deb[ \t]/ && tolower(field["enabled"]) !~ /^[ \t]*(no|false|0)/) {
        u = split(field["uris"], uris); s = split(field["suites"], suites)
        for (i = 1; i <= u; i++) for (j = 1; j <= s; j++) print uris[i], suites[j], field["components"]
      }
      split("", field); name = ""
    }
    /^#/ { next }
    /^[ \t]*$/ { flush(); next }
    /^[ \t]/ { field[name] = field[name] " " $0; next }
    { name = tolower(substr($0, 1, index($0, ":") - 1)); field[name] = substr($0, index($0, ":") + 1) }
    END { flush() }
  ' "$1"
}

# The folder of apt's configuration.
apt_folder() {
  local folder=
  ! command -v apt-config >/dev/null || eval "$(apt-config shell folder Dir::Etc/d)"
  printf '%s\n' "${folder:-/etc/apt}"
}

# The mirror of the Debian archive that apt uses here, or nothing. $1: apt's folder.
# Third parties also publish "<something>/debian" with a component main, so a host's top-level /debian is preferred.
debian_mirror() {
  apt_sources "$1" | resolve_mirror_lists | awk '
    $1 !~ /^https?:\/\// || $1 !~ /debian/ || $1 $2 ~ /security/ || (" " $0 " ") !~ / main / { next }
    $1 ~ /^https?:\/\/[^\/]+\/debian\/?$/ { if (!best) best = $1; next }
    !other { other = $1 }
    END { uri = best ? best : other; sub(/\/$/, "", uri); if (uri) print uri }'
}

# The Debian archive as it was at a time (20261030T140000Z). Official images say in a comment of apt's sources where the state of
# the archive is kept that they were made from; other times are kept beside it. $1: apt's folder, $2: the time.
debian_snapshot() {
  local beside
  beside=$(sed -nE 's|^# (https?://.*/)[0-9]{8}T[0-9]{6}Z/*$|\1|p' "$1"/sources.list.d/debian.sources 2>/dev/null | head -n 1)
  if [ -z "$beside" ]; then
    echo "$1/sources.list.d/debian.sources names no state of the archive: name a mirror (for an image: --build-arg MIRROR=...)" >&2
    return 1
  fi
  printf '%s%s\n' "$beside" "$2"
}

# Cloud images name their mirror in a file: mirror+file:/etc/apt/mirrors/debian.list
resolve_mirror_lists() {
  local uri rest list
  while read -r uri rest; do
    if [[ $uri == mirror+file:* ]]; then
      list=$(sed -E 's|^mirror\+file:/*|/|' <<<"$uri")
      uri=$(sed 's/#.*//' "$list" 2>/dev/null | awk 'NF { print $1; exit }')
    fi
    printf '%s %s\n' "$uri" "$rest"
  done
}

# How apt reaches its mirrors (proxies, TLS, retries), in apt.conf syntax.
apt_transport() {
  command -v apt-config >/dev/null || return 0
  apt-config dump | grep -E '^Acquire::((https?|ftp)::|Retries|ForceIPv|Check-Date)' || true
}

# The proxy that debootstrap should use: it reads the environment but not apt's setting.
http_proxy_of_apt() {
  apt_transport | sed -nE 's/^Acquire::http::Proxy "(.+)";$/\1/p' | head -n 1
}

# --- Certificates --------------------------------------------------------------------------------------------------

# The bundle of certificate authorities that this machine trusts, as one file.
certificate_bundle() {
  local file
  for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt \
    /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
    if [ -n "$file" ] && [ -f "$file" ]; then
      printf '%s\n' "$file"
      return
    fi
  done
}

# Certificate files that the environment, pip or apt name: programs will look for them under these very names.
certificate_files() {
  {
    printf '%s\n' "${SSL_CERT_FILE:-}" "${CURL_CA_BUNDLE:-}" "${REQUESTS_CA_BUNDLE:-}" "${PIP_CERT:-}"
    pip_settings | sed -nE 's/^cert[[:space:]]*=[[:space:]]*//p'
    apt_transport | sed -nE 's/^Acquire::https::CAInfo "(.+)";$/\1/p'
  } | existing -f
}

# --- Python packages -----------------------------------------------------------------------------------------------

pip_config_files() {
  local folder folders
  {
    IFS=: read -ra folders <<<"${XDG_CONFIG_DIRS:-/etc/xdg}"
    for folder in "${folders[@]}"; do printf '%s\n' "$folder/pip/pip.conf"; done
    printf '%s\n' /etc/pip.conf "$HOME/.pip/pip.conf" "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf" \
      "${PIP_CONFIG_FILE:-}"
  } | existing -f
}

# Every "key = value" of pip's configuration files and every PIP_ variable, continuation lines included.
pip_settings() {
  local file
  pip_config_files | while read -r file; do cat "$file" && echo; done
  env | sed -nE 's/^PIP_([A-Z_]+)=/\1 = /p'
}

# Files and folders on this machine that pip's settings point to (file:// indexes, find-links folders, constraints).
# For a local index ".../simple" that is its parent: its pages link to files beside it.
pip_local_paths() {
  pip_settings | sed 's/^[[:space:]]*[#;].*//' | tr -s ' \t=' '\n' |
    sed -nE 's|^file://(localhost)?(/.+)|\2|p; t; s|^(/.+)|\1|p' |
    sed -E 's|/+$||; s|(.+)/simple$|\1|' | existing -e
}

# --- ROCm ----------------------------------------------------------------------------------------------------------

# Folders that a ROCm could be installed in, beside the distribution's own places.
rocm_folders() { printf '%s\n' "${ROCM_PATH:-}" /opt/rocm /opt/rocm-*; }

rocr_libraries() {
  rocm_folders | sed 's|$|/lib/libhsa-runtime64.so.1|' | existing -f
  PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | sed -n 's/.*libhsa-runtime64\.so\.1 .*=> //p'
}

# The folder of a hipcc here, or nothing.
hipcc_folder() {
  local file
  for file in "${ROCM_PATH:-}/bin/hipcc" "$(command -v hipcc || true)" /opt/rocm/bin/hipcc; do
    if [ -x "$file" ]; then
      dirname "$file"
      return
    fi
  done
}

# Succeeds if this machine can build for and run on the software device without further ado.
machine_has_rocm() {
  local library
  [ -n "$(hipcc_folder)" ] || return 1
  while read -r library; do
    grep -q HSA_MODEL_TOPOLOGY "$library" && return 0
  done < <(rocr_libraries)
  return 1
}

# --- Data ----------------------------------------------------------------------------------------------------------

# The mount points of this machine that hold people's data, outermost first: none of the system's, of kernel file systems,
# of containers, and none below another. $1: a mountinfo file [proc_pid_mountinfo(5)].
data_mounts() {
  awk '
    { for (i = 7; i <= NF && $i != "-"; i++); type = $(i + 1); path = $5 }
    type ~ /^(proc|sysfs|cgroup2?|devpts|devtmpfs|mqueue|securityfs|debugfs|tracefs|pstore|bpf|configfs|efivarfs|fusectl)$/ { next }
    type ~ /^(hugetlbfs|binfmt_misc|autofs|rpc_pipefs|nsfs|ramfs|squashfs|selinuxfs|fuse\.(gvfsd-fuse|portal|lxcfs))$/ { next }
    type == "tmpfs" && $6 ~ /^ro(,|$)/ { next }
    path == "/" || path ~ /^\/(bin|boot|dev|etc|lib[^\/]*|opt|proc|root|run|sbin|snap|sys|tmp|usr)(\/|$)/ { next }
    path ~ /^\/var(\/(cache|lib|lock|log|run|spool|tmp)(\/|$)|$)/ { next }
    { print path }
  ' "$1" | while read -r path; do printf '%b\n' "${path//\\/\\0}"; done | LC_ALL=C sort -u | outermost
}

# Of sorted paths those that are not below another.
outermost() {
  local path last=
  while read -r path; do
    [ -z "$last" ] || [[ $path/ != "$last"/* ]] || continue
    printf '%s\n' "$path"
    last=$path
  done
}

# --- Common --------------------------------------------------------------------------------------------------------

# Passes on the lines that name something existing (-e, -f or -d), each once.
existing() {
  local path
  while read -r path; do
    if [ -n "$path" ] && test "$1" "$path"; then printf '%s\n' "$path"; fi
  done | awk '!seen[$0]++'
}
