"""The part of a command's document that its tool returns directly; the rest can be read with JSON pointers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_MAX_KERNELS, _MAX_ADVICE, _MAX_LINES, _MAX_PARTS = 5, 3, 8, 5
Json = Any


def highlights(tool: str, document: Json) -> Json:
    """The most important parts of the document; for tools with short documents, the document itself."""
    return _HIGHLIGHTS_BY_TOOL[tool](document) if tool in _HIGHLIGHTS_BY_TOOL else document


def _profile(document: Json) -> Json:
    if "thread_trace" in document:
        return document
    if "ranks" in document:
        slowest = document["summary"]["slowest_rank"] or 0
        return {"ranks": document["summary"], "slowest": _one_rank(document["ranks"][slowest], f"/ranks/{slowest}")}
    return _one_rank(document, "") | {"run_directory": document["run_directory"]}


def _one_rank(document: Json, pointer: str) -> Json:
    profile, dag, kernels = document["profile"], document["dag"], document["analysis"]["kernels"]
    of_interest = [(number, kernel) for number, kernel in enumerate(kernels) if kernel["critical_path_score"] is not None]
    first = sorted(of_interest, key=lambda pair: -pair[1]["critical_path_score"])[:_MAX_KERNELS]
    shown = first or list(enumerate(kernels))[:_MAX_KERNELS]
    return {
        "command": profile["run"]["command"],
        "gpu": f"{profile['gpu']['product']} ({profile['gpu']['target']})",
        "timing": profile["timing"],
        "runtime_ms": profile["runtime_ms"],
        "stability": profile["stability"]["classification"],
        "critical_path_ns": dag["critical_path_ns"],
        "dominant_symbol": dag["dominant_symbol"],
        "fraction": dag["fraction"],
        "speedup_ceiling": dag["speedup_ceiling"],
        "idle": [{name: idle[name] for name in ("agent", "fraction", "by_cause_ns")} for idle in dag["idle"][:_MAX_KERNELS]],
        "kernels": [_kernel(kernel, f"{pointer}/analysis/kernels/{number}") for number, kernel in shown],
        "kernels_in_all": len(kernels),
        "notes": dag["notes"],
    }


def _kernel(kernel: Json, pointer: str) -> Json:
    bottleneck, headroom, traced = kernel["bottleneck"], kernel["headroom"], kernel["thread_trace"]
    highlight = {
        "kernel": kernel["kernel"],
        "time_ms": kernel["time_ms"],
        "dispatches": kernel["dispatches"],
        "of_critical_path": kernel["critical_path_score"],
        "bottleneck": bottleneck["name"],
        "certainty": bottleneck["certainty"],
        "verdict_by": bottleneck["by"],
        "why": bottleneck["why"],
        "factors": [factor["name"] for factor in bottleneck["factors"]],
        "advice": bottleneck["advice"][:_MAX_ADVICE],
        "headroom": {name: headroom[name] for name in ("fraction", "binding", "program_speedup", "priority")},
        "resources": kernel["resources"] | {"waves_per_cu": kernel["occupancy"]["resident_waves_per_cu"]},
        "read": pointer,
    }
    if traced is not None and traced["waited_for"] is not None:
        highlight["waits_longest_for_line"] = traced["waited_for"]["source"]
    if traced is not None and traced["time_stack"] is not None:
        highlight["time_by_experiment"] = {
            part["name"]: round(part["share"], 3) for part in traced["time_stack"]["parts"][:_MAX_PARTS]
        }
    return highlight


def _compare(document: Json) -> Json:
    return {
        "exceeded": document["exceeded"],
        "comparisons": [
            _comparison(comparison, f"/comparisons/{number}") for number, comparison in enumerate(document["comparisons"])
        ],
    }


def _comparison(comparison: Json, pointer: str) -> Json:
    kernels = [
        {
            "kernel": kernel["kernel"],
            "bottleneck": kernel["bottleneck"],
            "changed": [change for change in kernel["changes"] if change["verdict"] in ("more", "less")],
            "counters_that_changed": len(kernel["counters"]),
            "read": f"{pointer}/kernels/{number}",
        }
        for number, kernel in enumerate(comparison["kernels"])
        if not kernel["is_runtime"]
    ]
    names = ("program", "gone", "added", "limits", "notes", "model_error")
    return {name: comparison[name] for name in names} | {"new": comparison["new"]["path"], "kernels": kernels}


def _explain(document: Json) -> Json:
    """The capture, the terms or, for a run, the kernel that matters most and the names and causes of the others."""
    if document["capture"] is not None:
        return {"capture": document["capture"]}
    if not document["kernels"]:
        return {"terms": document["terms"]}
    first, *further = document["kernels"]
    other_causes = [{name: cause[name] for name in ("name", "score", "missing")} for cause in first["others"]]
    evidence = [
        {name: item[name] for name in ("name", "value", "direction", "threshold", "rationale")} for item in first["evidence"]
    ]
    more = [
        {"kernel": kernel["kernel"], "cause": kernel["cause"], "read": f"/kernels/{n}"} for n, kernel in enumerate(further, 1)
    ]
    return first | {"others": other_causes, "evidence": evidence, "more": more, "read": "/kernels/0"}


def _source(document: Json) -> Json:
    """The costliest lines of each kernel, with their text."""
    files = document["files"]
    kernels = []
    for number, kernel in enumerate(document["kernels"][:_MAX_KERNELS]):
        lines = [
            {
                "line": f"{files[line['place']['file']]['name']}:{line['place']['line']}",
                "text": _text(files[line["place"]["file"]], line["place"]["line"]),
                **{name: line[name] for name in ("share", "stall_cycles", "waited_cycles")},
            }
            for line in sorted(kernel["lines"] or [], key=lambda line: -line["share"])[:_MAX_LINES]
        ]
        kernels.append({"kernel": kernel["kernel"], "lines": lines, "read": f"/kernels/{number}"})
    return {"kernels": kernels, "kernels_in_all": len(document["kernels"])}


def _text(file: Json, line: int) -> str | None:
    for excerpt in file["excerpts"] or []:
        if 0 <= line - excerpt["first"] < len(excerpt["text"]):
            return str(excerpt["text"][line - excerpt["first"]]).strip()
    return None


def _prompt(document: Json) -> Json:
    return {name: document[name] for name in ("source", "timing", "share", "text")} | {
        "kernel": document["kernel"]["demangled"]
    }


def _gate(document: Json) -> Json:
    """The verdict and its steps, with the evidence of the step that rejected the candidate."""
    steps = []
    for number, step in enumerate(document["steps"]):
        summary = {name: step[name] for name in ("step", "outcome", "reason")}
        if step["outcome"] == "rejected":
            summary["evidence"] = step["evidence"]
        elif step["outcome"] != "skipped":
            summary["read"] = f"/steps/{number}"
        steps.append(summary)
    decided = [step for step in steps if step["outcome"] != "skipped" or document["accepted"]]
    left_out = ("steps", "adopted", "adopted_elsewhere")
    return {name: document[name] for name in document if name not in left_out} | {"steps": decided}


def _optimize(document: Json) -> Json:
    if not isinstance(document, dict) or "proposals" not in document:
        return document
    proposals = [
        {name: proposal[name] for name in ("transformation", "kernel", "line", "description")}
        | ({} if proposal["verdict"] is None else {"accepted": proposal["verdict"].get("accepted")})
        | {"read": f"/proposals/{number}"}
        for number, proposal in enumerate(document["proposals"])
    ]
    return {name: value for name, value in document.items() if name != "refusals"} | {
        "proposals": proposals,
        "refusals": f"{len(document['refusals'])}: read /refusals",
    }


def _autotune(document: Json) -> Json:
    return {name: value for name, value in document.items() if name != "evaluations"} | {
        "evaluations": f"{len(document['evaluations'])}: read /evaluations"
    }


_HIGHLIGHTS_BY_TOOL: Mapping[str, Callable[[Json], Json]] = {
    "profile": _profile,
    "analyze": _profile,
    "compare": _compare,
    "explain": _explain,
    "source": _source,
    "prompt": _prompt,
    "gate": _gate,
    "optimize": _optimize,
    "autotune": _autotune,
}
