"""The results of an analysis, before they become documents."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocm_perf_lab.analysis.annotated_code import AnnotatedCode
from rocm_perf_lab.analysis.ceilings import Ceilings
from rocm_perf_lab.analysis.critical_path import CriticalPath
from rocm_perf_lab.analysis.dag import Dag
from rocm_perf_lab.analysis.device import GpuSpecs
from rocm_perf_lab.analysis.dispatch_choice import Selection
from rocm_perf_lab.analysis.idle import Idle
from rocm_perf_lab.analysis.kernel_findings import KernelFindings
from rocm_perf_lab.analysis.program_gain import ProgramGain
from rocm_perf_lab.analysis.program_time_stack import ProgramStack
from rocm_perf_lab.analysis.roofline import Roofline
from rocm_perf_lab.analysis.stability import Stability
from rocm_perf_lab.analysis.thread_trace.traced_kernels import TracedKernels
from rocm_perf_lab.analysis.triton.kernel_descriptions import DescribedKernels
from rocm_perf_lab.analysis.what_if import DominanceShift, Scenario
from rocm_perf_lab.rocpd.trace import Trace


@dataclass(frozen=True)
class Findings:
    """device: the GPU that ran the selected dispatch. stability, path: None if the trace has no GPU times. program_stack: also
    None without experiments. code: the code of each kernel, or the reason why it is not known.
    """

    trace: Trace
    selection: Selection
    device: GpuSpecs
    stability: Stability | None
    kernels: list[KernelFindings]
    dag: Dag
    path: CriticalPath | None
    traced: TracedKernels = field(default_factory=TracedKernels)
    idle: list[Idle] = field(default_factory=list)
    what_if: list[Scenario] = field(default_factory=list)
    shift: DominanceShift | None = None
    program_gains: list[ProgramGain] = field(default_factory=list)
    program_stack: ProgramStack | None = None
    total: Roofline | None = None
    ceilings: Ceilings | None = None
    code: list[AnnotatedCode | str] = field(default_factory=list)
    triton: DescribedKernels = DescribedKernels({})
