"""The table of `benchmarks/optimize.py`: which kernels, how each is optimized, and how its results are checked."""
