#!/bin/sh
# Installs env/packages.txt into the Debian sid system that it runs in: a root built by ./dev, or a container image.
# Safe to run again after an interruption, and again when the list has changed.
#
#   install.sh MIRROR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mirror=${1:?usage: install.sh MIRROR}
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

rm -f /etc/apt/sources.list.d/debian.sources
printf 'deb %s %s main\n' "$mirror" sid "$mirror" experimental > /etc/apt/sources.list
cat > /etc/apt/apt.conf.d/70rocm-perf-lab <<'CONF'
// A mirror may lag by weeks; signatures are still checked.
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Install-Recommends "false";
CONF

# Repairs what an interrupted run left half configured; nothing to do the first time.
dpkg --configure -a
apt-get -q update
apt-get -q -y --fix-broken install

# Sid's packages first, so that they are not taken from experimental only because it has something newer.
list() { awk -v suite="$1" '!/^#/ && NF && ($2 ? $2 : "sid") == suite { print $1 }' "$here/packages.txt"; }
# Word splitting is wanted: one argument a package.
# shellcheck disable=SC2046
apt-get -q -y install $(list sid)
# shellcheck disable=SC2046
apt-get -q -y -t experimental install $(list experimental)
# The OpenMP runtime of the very clang that hipcc runs: host code of HIP programs is often built with -fopenmp.
clang=$(hipcc --version | sed -n 's/.*clang version \([0-9]*\).*/\1/p')
apt-get -q -y install "libomp-$clang-dev"
apt-get clean

library=$(ldconfig -p | sed -n 's/.*libhsa-runtime64\.so\.1 .*=> //p' | head -n 1)
if ! grep -q HSA_MODEL_TOPOLOGY "$library"; then
  echo "probe: $library has no model interface (ROCm 7.1 or newer needed)" >&2
  exit 1
fi
if ! hipcc --version; then
  echo "probe: hipcc does not run (it needs /proc)" >&2
  exit 1
fi
