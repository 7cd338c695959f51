"""Tunes a Triton function for every problem size that a script launches it with."""
