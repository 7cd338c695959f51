"""The Debian root with ROCm that `rocm-perf setup` makes for an installed package. A clone has ./dev instead."""
