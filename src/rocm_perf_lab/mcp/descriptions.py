"""What agents are told about each tool: when to use it, what it returns, and what to do next."""

from __future__ import annotations

DESCRIPTIONS = {
    "profile": (
        "Runs a HIP program and finds which GPU kernel holds it back and why. Use it first. Returns the dominant kernel, "
        "its share of the critical path, for each of the main kernels the bottleneck with the reason, advice and possible "
        "gain, and the run directory that prompt and compare accept. Compile with hipcc -O3 -g --offload-arch=gfx942 "
        "first, so that source lines are known. Next: prompt for the dominant kernel."
    ),
    "analyze": (
        "Analyses existing traces (rocpd .db files of rocprofv3, or run directories) as profile does, without running "
        "anything; with what_if it predicts what a faster kernel would gain."
    ),
    "compare": (
        "Compares runs of two builds kernel by kernel: time, registers, occupancy, counters. Use it to see what a change "
        "did, or, with fail_on such as time>2%, whether it is a regression. Returns the changes only; exit code 54 if a "
        "limit is exceeded."
    ),
    "explain": (
        "Explains why the kernels of a run are slow: the cause with its numbers and thresholds, why other causes were ruled "
        "out, what to try, and what their time is spent on, by experiments on the software device. Set what to the run "
        "directory of profile or analyze, a capture of isolate, or a term from a report, such as latency-bound or "
        "bank-conflicts. Use it if a verdict surprises you or is uncertain."
    ),
    "source": (
        "Shows the source lines and instructions of the kernels in a run directory (run) with the cycles that they took, and "
        "what waves waited for there. Use it to find the line to change. Returns the costliest lines; read returns all "
        "instructions with addresses. Needs a profile with deep_analysis of a program compiled with -g."
    ),
    "prompt": (
        "Collects what is known about the kernel to work on: evidence, hot lines, waits, its source, what was tried "
        "before, and the rules for a change. Set profile to the run directory of an earlier profile. Returns one text. "
        "Next: change the kernel's body in a copy of the source, then gate."
    ),
    "gate": (
        "Judges a change to one kernel: same results on captured and other inputs, faster, nothing else changed. baseline "
        "is the source file, candidate a copy with the kernel's body changed, program the compiled program and its "
        "arguments. Returns accepted and, if it is rejected, the deciding step with its evidence, and exit code 45. Next: "
        "replace the source if it is accepted, else change the hypothesis."
    ),
    "isolate": "Captures one dispatch of a kernel with all its memory, so that replay can run it alone.",
    "replay": "Runs a captured dispatch again, with other code (hsaco) if wanted, and compares the memory that it leaves.",
    "autotune": (
        "Finds the best configuration of a program with parameters, such as tile sizes, in few runs. Requires a file with "
        "the space and a command line with {NAME} for each parameter."
    ),
    "optimize": (
        "Tries known transformations of a kernel and keeps those that the gate accepts. dry_run lists what would be "
        "tried. Returns the accepted changes, the gain and the files written."
    ),
    "doctor": "Reports what works on this machine and what is missing. Use it if another tool fails.",
}
