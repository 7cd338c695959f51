#!/usr/bin/env bash
# What the GitHub action (action.yml) and the GitLab template (env/gitlab-ci.yml) run.
#
#   ci.sh cache       print what to keep between jobs, as outputs of a GitHub step: key, and paths, one a line
#   ci.sh compare     build and profile two revisions of the git repository in the current folder, and compare them
#
# Environment of `compare`; the first five are options of `rocm-perf ci`, those marked * one value a line:
#
#   ROCM_PERF_BASE, ROCM_PERF_BUILD*, ROCM_PERF_PROGRAM*, ROCM_PERF_FAIL_ON*, ROCM_PERF_OUTPUT
#   ROCM_PERF_OPTIONS*   further options, each with its value on the line after it
set -euo pipefail
repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)

# The native parts are compiled for this processor, so they are kept for others like it only.
cache() {
  local cpu environment
  cpu=$(grep -m 1 -E '^(flags|Features)' /proc/cpuinfo | sha256sum | cut -c1-12)
  environment=$(cd -- "$repo" && find CMakeLists.txt pyproject.toml env native testbed -type f -print0 | sort -z |
    xargs -0 sha256sum | sha256sum | cut -c1-12)
  echo "key=rocm-perf-lab-$environment-$cpu"
  printf 'paths<<END_OF_PATHS\n%s\nEND_OF_PATHS\n' "${XDG_CACHE_HOME:-$HOME/.cache}/rocm-perf-lab
$repo/build"
}

compare() {
  local arguments=(--base "${ROCM_PERF_BASE:?name the revision to compare with}" -o "${ROCM_PERF_OUTPUT:-rocm-perf-ci}")
  add --build "${ROCM_PERF_BUILD:-}"
  add --program "${ROCM_PERF_PROGRAM:?name a program to profile}"
  add --fail-on "${ROCM_PERF_FAIL_ON:-}"
  add '' "${ROCM_PERF_OPTIONS:-}"
  # Checkouts often belong to another user than the one that the job runs as, which git distrusts.
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
  exec "$repo/dev" run rocm-perf ci "${arguments[@]}"
}

# add OPTION LINES: the option with every line that is not empty; without an option, the lines themselves.
add() {
  local line
  while IFS= read -r line; do
    [ -z "$line" ] || arguments+=(${1:+"$1"} "$line")
  done <<<"$2"
}

case ${1:-} in
  cache | compare) "$1" ;;
  *) sed -n '4,5s/^# *//p' "$0" >&2 && exit 64 ;;
esac
