"""The run that provides the times and the critical path. Its trace is read, and its derived results are computed, only once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rocm_perf_lab.analysis.critical_path import CriticalPath, critical_path
from rocm_perf_lab.analysis.dag import Dag, build_dag
from rocm_perf_lab.analysis.dispatch_choice import Selection, select
from rocm_perf_lab.analysis.symbols import Symbol, matching, symbols_of
from rocm_perf_lab.errors import NoKernelsError
from rocm_perf_lab.rocpd.reader import read_trace
from rocm_perf_lab.rocpd.recorded_process import RecordedProcess
from rocm_perf_lab.rocpd.trace import Trace
from rocm_perf_lab.rocpd.trace_part import WHOLE_TRACE, TracePart


@dataclass(frozen=True, eq=False)
class BaseRun:
    """kernel: selects the kernels to report on (see kernel_pattern); None for all. The critical path always covers all."""

    trace: Trace
    kernel: str | None = None

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The symbols to report on. Raises EmptyPartError if there are symbols but the pattern matches none of them."""
        return matching(symbols_of(self.trace), self.kernel)

    @cached_property
    def selection(self) -> Selection:
        """The selected dispatch. Requires a run that dispatched kernels."""
        return select(self.trace, self.symbols)

    @cached_property
    def dag(self) -> Dag:
        """The graph of the trace. Raises TraceError if its dependencies form a cycle."""
        return build_dag(self.trace)

    @cached_property
    def path(self) -> CriticalPath | None:
        """The critical path; None if the trace has no GPU times. Raises TraceError if the dependencies form a cycle."""
        return critical_path(self.dag) if self.trace.has_times else None

    def expect_kernels(self) -> None:
        """Raises NoKernelsError if no kernel was dispatched."""
        if not len(self.trace.dispatches):
            program = self.trace.process.command or self.trace.path
            raise NoKernelsError(f"{program} launched no GPU kernel", _no_kernels(self.trace))


def read_base_run(source: Path | RecordedProcess, kernel: str | None = None, part: TracePart = WHOLE_TRACE) -> BaseRun:
    """Read the base run, or `part` of its trace. Raises TraceError for a trace that cannot be read."""
    return BaseRun(read_part(source, part), kernel)


def read_part(source: Path | RecordedProcess, part: TracePart) -> Trace:
    """Read a part of a trace. Raises TraceError for a trace that cannot be read."""
    if isinstance(source, RecordedProcess):
        return read_trace(source.path, source.suffix, part)
    return read_trace(source, None, part)


def _no_kernels(trace: Trace) -> str:
    hint = "check that it is a HIP program and that it reaches its kernels"
    if trace.process.own_metadata:
        return hint
    return f"{hint}; if they ran in a process that ends by _exit, quick_exit or exec, rocprofv3 lost them: try --no-rocprof"
