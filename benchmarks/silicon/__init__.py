"""Parts of the benchmarks that compare modelled times, rates and counters with recorded ones, such as calibration.py."""
