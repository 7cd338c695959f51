"""What `rocm-perf gate --triton` does: judges a Triton kernel, and prints the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocm_perf_lab.cli.printed_verdict import print_verdict
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.errors import CandidateRejectedError, UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.optimize.backend import BackendOptions

_SEPARATOR = "::"


def judge_and_print(
    baseline: Path, candidate: Path, arguments: tuple[str, ...], python: str, options: BackendOptions, as_json: bool
) -> int:
    """Judge the kernel, print the verdict and return the exit code.

    candidate: "script.py::kernel". baseline: in the same form, or only a script if its kernel has the same name. Raises what
    gate.triton_kernel.judge.judge() and ScriptKernel.of() raise.
    """
    from rocm_perf_lab.gate import seeds
    from rocm_perf_lab.gate.triton_kernel.document import gate_document
    from rocm_perf_lab.gate.triton_kernel.judge import judge
    from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
    from rocm_perf_lab.json_model import json_text
    from rocm_perf_lab.triton_launches import ScriptKernel

    if options.pattern or options.check or options.also:
        raise UsageError("--kernel, --check and --also are not for --triton", "name the kernel as CANDIDATE::KERNEL")
    candidate_kernel = ScriptKernel.of(str(candidate), arguments, python)
    name = str(baseline) if _SEPARATOR in str(baseline) else f"{baseline}{_SEPARATOR}{candidate_kernel.kernel}"
    request = TritonGateRequest(
        ScriptKernel.of(name, arguments, python), candidate_kernel, options.device, options.ulps, options.min_improvement,
        seeds.fresh() if options.seed is None else options.seed, view=options.view,
    )  # fmt: skip
    if options.timeout is not None:
        request = request.with_timeout(options.timeout)
    verdict = judge(request, note)
    if as_json:
        click.echo(json_text(gate_document(request, verdict)))
    else:
        print_verdict(verdict, modelled=True)
    return 0 if verdict.accepted else CandidateRejectedError.exit_code
