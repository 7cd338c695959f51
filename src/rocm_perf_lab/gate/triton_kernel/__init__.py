"""Judges a change of a Triton kernel: both scripts launch it, and what they launch runs again on the same memory.

Code of the candidate's script runs in the cage, and decides about nothing but its own launches: their code, grid, LDS and
numbers. Memory comes from the baseline's launches, and the launches are repeated by another process.
"""
