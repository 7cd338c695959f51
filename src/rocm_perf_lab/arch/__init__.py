"""Facts about GPU families (occupancy, counters, peaks) and about products (size, clocks, memory).

Nothing is imported here, because every command that runs a program selects a device, which needs only the products.
"""
