"""Compares runs of a program, kernel by kernel, and judges the differences against limits."""
