"""The cage: what others wrote (builds of candidates, their programs, their kernels) runs where it can harm nobody.

docs/WHITEPAPER.md, "The cage", says what it holds and what not.
"""

from .limits import Ended, Limits
from .mechanism import kind
from .start import expect, in_words, run, within
from .view import View

__all__ = ["Ended", "Limits", "View", "expect", "in_words", "kind", "run", "within"]
