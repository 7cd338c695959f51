# What `./dev shell` begins with, instead of the user's own files.
PS1='(rocm-perf-lab) \w\$ '
eval "$(rocm-perf completion bash)"
