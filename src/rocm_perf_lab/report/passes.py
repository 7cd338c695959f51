"""Tells in profile.json what the further runs of the program yielded, and why what they did not yield is null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rocm_perf_lab.collect.passes import COUNTERS, Pass
from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.report.schema import PassSection, ProfileDocument

_ALL_KERNELS = "a counter pass covers all kernels"
_SWITCHED_OFF = "switched off by --no-roofline"


def with_passes(documents: Documents, passes: Sequence[Pass], directory: Path, roofline: bool) -> Documents:
    """`documents` of a profile, with its passes. roofline: whether one was asked for; else it is null."""
    fields = documents.profile.model_dump()
    reasons = dict(documents.profile.reasons)
    fields["passes"] = [_section(found, directory).model_dump() for found in passes]
    if not roofline:
        fields["roofline"], reasons["roofline"] = None, _SWITCHED_OFF
        documents = replace(documents, roofline=documents.roofline.model_copy(update={"kernels": []}))
    elif "roofline" in reasons:
        why = dict.fromkeys(found.reason for found in passes if found.kind == COUNTERS and found.reason)
        reasons["roofline"] = ": ".join([reasons["roofline"], *why])
    return replace(documents, profile=ProfileDocument.model_validate(fields | {"reasons": reasons}))


def _section(found: Pass, directory: Path) -> PassSection:
    reasons = {"kernel": _ALL_KERNELS} if found.kernel is None else {}
    if found.output is None:
        reasons["output"] = found.reason or "nothing came of it"
    return PassSection(
        kind=found.kind,
        output=str(found.output.relative_to(directory)) if found.output else None,
        kernel=found.kernel,
        counters=list(found.counters),
        missing=dict(found.missing),
        notes=[found.doubt] if found.doubt else [],
        reasons=reasons,
    )
