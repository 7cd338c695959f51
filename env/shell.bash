# What `./dev shell` begins with, instead of the user's own files.
PS1='(rocm-perf-lab) \w\$ '
# shellcheck source=/dev/null
source <(rocm-perf completion bash)
