"""The verdict on a Triton kernel, as printed by `rocm-perf gate --json`."""

from __future__ import annotations

from rocm_perf_lab.gate.gate_document import GateDocument
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.verdict import Verdict


def gate_document(request: TritonGateRequest, verdict: Verdict) -> GateDocument:
    document, timing = verdict.document(), verdict.program_timing
    return GateDocument(
        baseline=str(request.baseline.script),
        candidate=str(request.candidate.script),
        kernel=request.candidate.kernel,
        device="software gfx942",
        timing="modelled",
        timing_parameters=timing[1] if timing else None,
        equivalence="full",
        ulps=request.ulps,
        accepted=document.accepted,
        undecided=document.undecided,
        steps=document.steps,
        adopted=None,
    )
