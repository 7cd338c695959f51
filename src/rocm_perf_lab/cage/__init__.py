"""The cage: what others wrote (builds of candidates, their programs, their kernels) runs where it can harm nobody.

docs/WHITEPAPER.md, "The cage", says what it holds and what not.
"""

from rocm_perf_lab.cage.limits import Ended, Limits
from rocm_perf_lab.cage.mechanism import kind
from rocm_perf_lab.cage.start import expect, in_words, run, within
from rocm_perf_lab.cage.view import View

__all__ = ["Ended", "Limits", "View", "expect", "in_words", "kind", "run", "within"]
