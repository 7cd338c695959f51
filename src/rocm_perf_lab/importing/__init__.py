"""Converts the output of other profilers into rocpd databases, which the analysis reads.

Each format has a file of its own; formats.py recognises them.
"""
