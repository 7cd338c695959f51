"""What is read from rocprofv3's log, which the program writes to as well."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.collect.rocprofv3_log import complaint, doubt, last_words, missing_counters

SIGNED = "{}20260101 00:00:00.000000 17 tool.cpp:1] "
TOO_MANY = (
    SIGNED.format("F") + " :: [/src/tool.cpp:1194]\n\trocprofiler_create_counter_config(a, b)\n\n"
    "Could not construct profile cfg failed with error code 38: Request exceeds the capabilities of the hardware to collect\n"
    "*** Check failure stack trace: ***\n    @     0x7f0000000000  (unknown)\n"
)  # fmt: skip
NOT_ALLOWED = TOO_MANY.replace("38: Request exceeds the capabilities of the hardware to collect",
                               "41: Required permission (CAP_PERFMON) is not set, permission denied")  # fmt: skip
AT_EVERY_RUN = [
    SIGNED.format("W") + "[rocprofv3] tool finalization ::     0.210893 sec",
    SIGNED.format("E") + "Opened result file: /x/17_results.db (UUID=0)",
    SIGNED.format("W") + "writing SQL database for process 17 on node 1",
    "Warning: Resource leak detected by SharedSignalPool, 9 Signals leaked.",
    '*** Aborted at 1795327641 (unix time) try "date -d @1795327641" if you are using GNU date ***',
    "    @     0x7f0000000000  (unknown)",
]
WORDS_OF_THE_PROGRAM = [
    "cannot open cache file: Permission denied", "error: operation not permitted", "SQLite3 error 5: database is locked",
    "Could not construct profile cfg", "Request exceeds the capabilities of the hardware", "INVALID_SHADER_DATA",
    "fatal: rocprof-trace-decoder library path not found", "PMC Counters may be inaccurate", "Aborted",
]  # fmt: skip


@given(st.lists(st.sampled_from(AT_EVERY_RUN + WORDS_OF_THE_PROGRAM)))
def test_neither_routine_messages_nor_program_output_are_a_complaint(lines):
    log = "\n".join(lines)
    assert complaint(log) is None and doubt(log) is None and missing_counters(log) == set() and last_words(log) == ""


@given(st.lists(st.sampled_from(AT_EVERY_RUN + WORDS_OF_THE_PROGRAM)), st.sampled_from(["", "half a line of the program: "]))
def test_a_fatal_message_is_found_among_them(lines, unfinished):
    log = "\n".join([*lines, unfinished + TOO_MANY, *AT_EVERY_RUN])
    assert complaint(log).divisible
    assert last_words(log).startswith("Could not construct profile cfg") and last_words(log).endswith("hardware to collect")


@pytest.mark.parametrize(
    "log, reason",
    [
        (NOT_ALLOWED, "permission denied"),
        ("Fatal error: rocprof-trace-decoder library path not found in ['']", "not installed"),
        (SIGNED.format("F") + "SQLite3 error 1: near \"s\": syntax error", "stopped while it wrote"),
        (SIGNED.format("E") + "Callback failed with status 4: ..._ERROR_INVALID_SHADER_DATA", "cannot be decoded"),
    ],
)  # fmt: skip
def test_known_complaints(log, reason):
    assert reason in complaint(log).reason


def test_the_most_specific_source_explains_what_ended_a_run():
    fault = "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x2. Reason: Unknown."
    error = SIGNED.format("E") + "cannot write the file"
    assert last_words("\n".join([fault, error, *AT_EVERY_RUN])) == fault
    assert last_words("\n".join([error, *AT_EVERY_RUN])) == "cannot write the file"


@pytest.mark.parametrize(
    "who",
    [
        "Device 1 could not be locked for profiling due to lack of permissions (capability SYS_PERFMON)",
        "Device 1 has a profiler attached to it",
        "Failed to lock device 1",
    ],
)
def test_counters_that_could_not_be_locked_are_doubtful(who):
    log = SIGNED.format("W") + f"{who}. PMC Counters may be inaccurate."
    assert "CAP_PERFMON" in doubt(log) and complaint(log) is None
