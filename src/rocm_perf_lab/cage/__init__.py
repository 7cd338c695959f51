"""The cage, in which untrusted code (the builds, programs and kernels of candidates) can run without doing harm.

docs/WHITEPAPER.md, "The cage", describes what it prevents and what it does not.
"""

from rocm_perf_lab.cage.hip_code_cache import copy_of_cache
from rocm_perf_lab.cage.limits import CageLimits, CageResult
from rocm_perf_lab.cage.mechanism import kind
from rocm_perf_lab.cage.start import expect_mechanism, in_words, run, within
from rocm_perf_lab.cage.view import View

__all__ = ["CageLimits", "CageResult", "View", "copy_of_cache", "expect_mechanism", "in_words", "kind", "run", "within"]
