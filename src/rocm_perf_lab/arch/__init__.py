"""Facts about GPU families (occupancy, counters, peaks) and about products (size, clocks, memory).

This file imports nothing: every command that runs a program selects a device, and that takes only the products.
"""
