"""Facts about GPU families (occupancy, counters, peaks) and about products (size, clocks, memory)."""

from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.products import Product, product_of

__all__ = ["Family", "Product", "family_of", "product_of"]
