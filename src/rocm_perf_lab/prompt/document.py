"""The context as one JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rocm_perf_lab.prompt import tokens
from rocm_perf_lab.utf8 import utf8

if TYPE_CHECKING:
    from rocm_perf_lab.prompt.context import Context

_OF_THE_PATH = ("dependencies", "critical_path_ns", "dominant_symbol", "fraction", "speedup_ceiling", "next_in_line")


def document(context: Context, text: str, full_source: bool) -> dict[str, Any]:
    """Sections of the profile's documents keep their fields; see docs/reference/json.md."""
    dag = context.reports.dag.model_dump(mode="json")
    profile = context.reports.profile
    return {
        "schema_version": profile.schema_version,
        "tool": profile.tool.model_dump(mode="json"),
        "gpu": profile.gpu.model_dump(mode="json"),
        "timing": profile.timing,
        "timing_parameters": profile.timing_parameters,
        "source": context.code.kernel.file,
        "kernel": {
            "name": context.kernel.name,
            "demangled": context.target.demangled,
            "template": context.kernel.template,
            "attributes": list(context.kernel.attributes),
            "parameters": [f"{one.type} {one.name}" for one in context.kernel.parameters],
            "instances": [one.demangled for one in (context.target, *context.target.siblings)],
        },
        "path": {name: dag[name] for name in _OF_THE_PATH}
        | {"dominance_shift": dag["dominance_shift"], "reasons": dag.get("reasons", {}), "notes": dag["notes"]},
        "share": context.target.share,
        "analysis": context.analysis.model_dump(mode="json"),
        "roofline": None if context.roof is None else context.roof.model_dump(mode="json"),
        "tried": [asdict(one) for one in context.tried],
        "code": [asdict(excerpt) for excerpt in context.code.shown(full_source)],
        "declared_elsewhere": list(context.code.elsewhere),
        "rules": context.rules.lines(context.kernel),
        "text": text,
        "bytes": len(utf8(text)),
        "tokens_estimate": tokens.estimate(text),
        "tokens_method": tokens.METHOD,
    }
