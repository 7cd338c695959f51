"""What the benchmarks that run code from outside this project share: they build and run it, and report how that went."""
