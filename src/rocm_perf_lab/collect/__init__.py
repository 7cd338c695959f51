"""Runs a program under a collector, on a GPU or on the software device."""
