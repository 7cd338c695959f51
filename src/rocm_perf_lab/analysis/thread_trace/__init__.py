"""Thread traces as rocprofv3 writes them: what each wave of one CU did, instruction by instruction.

    for trace in read_all(folder):
        found = findings(trace, family)
        found.stall_fraction.value, found.waited_for, found.chains

Reading never raises because of what the files contain: values that cannot be read are None, with a reason.
"""

from rocm_perf_lab.analysis.thread_trace.findings import ThreadTraceFindings, findings
from rocm_perf_lab.analysis.thread_trace.read import read, read_all
from rocm_perf_lab.analysis.thread_trace.tables import ThreadTrace

__all__ = ["ThreadTraceFindings", "ThreadTrace", "findings", "read", "read_all"]
