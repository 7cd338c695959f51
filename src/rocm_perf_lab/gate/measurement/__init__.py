"""Step 5, measurement: the candidate is faster, beyond what chance explains."""
