#!/usr/bin/env bash
# Makes the packages of a release with the Python on PATH: an sdist, and from it the wheel for Linux on x86-64 with the native parts
# and that for all other machines. Two runs for one revision give the same bytes.
#
#   release.sh FOLDER [TAG]     fails unless the version is the one that TAG (v1.2.3) names
set -euo pipefail
repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
[ $# -ge 1 ] || { sed -n '5s/^# *//p' "$0" >&2 && exit 64; }
folder=$1 version=${2:-}
version=${version#v}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

SOURCE_DATE_EPOCH=$(git -C "$repo" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
python -m build --no-isolation --sdist --outdir "$work/dist" "$repo"
name=$(basename "$work"/dist/*.tar.gz .tar.gz)
if [ -n "$version" ] && [ "$name" != "rocm_perf_lab-$version" ]; then
  echo "release.sh: $name is not version $version; build a clean clone of the tag" >&2
  exit 65
fi
tar -xzf "$work/dist/$name.tar.gz" -C "$work"
for native in require off; do
  ROCM_PERF_LAB_NATIVE=$native python -m build --no-isolation --wheel --outdir "$work/dist" "$work/$name"
done
mkdir -p -- "$folder"
mv -- "$work"/dist/* "$folder"
