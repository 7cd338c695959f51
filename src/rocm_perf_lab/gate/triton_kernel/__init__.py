"""Judges a change to a Triton kernel: both scripts launch it, and the launches are repeated on the same memory.

The candidate's script runs in the cage, and determines nothing but its own launches: their code, grid, LDS and numbers. Memory
contents come from the baseline's launches, and a separate process repeats the launches.
"""
