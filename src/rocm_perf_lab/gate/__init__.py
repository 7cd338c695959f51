"""Judges a changed kernel from the baseline, the candidate and the limits, without knowing who proposed the change."""
