"""Judges a changed kernel, given the baseline, the candidate and the limits, without knowing who proposed the change."""
