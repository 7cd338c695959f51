"""Converts the output of other profilers into rocpd databases, which the analysis reads.

Each format has its own module; formats.py recognises the formats.
"""
