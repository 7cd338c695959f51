"""Facts about GPU families (occupancy, counters, peaks) and about products (size, clocks, memory).

Nothing is imported here: selecting a device needs the products alone, and every command that runs a program selects one.
"""
