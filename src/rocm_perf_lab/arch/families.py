"""The known GPU families. To add a family, write a module like cdna3.py that defines FAMILY, and list it below."""

from __future__ import annotations

from rocm_perf_lab.arch import cdna2, cdna3, cdna4, rdna2
from rocm_perf_lab.arch.family import Family

FAMILIES: tuple[Family, ...] = (cdna2.FAMILY, cdna3.FAMILY, cdna4.FAMILY, rdna2.FAMILY)


def family_of(target: str) -> Family | None:
    """The family of an LLVM target such as 'gfx942' (or 'gfx942:sramecc+:xnack-'); None if unknown."""
    processor = target.split(":")[0]
    return next((family for family in FAMILIES if processor in family.targets), None)
