#!/usr/bin/env python3
"""Prints what googletest prints. The name of a case says what it does; each start and each case is noted in the file $NOTES."""

import os
import re
import sys
import time

CASES = [
    "Quick.pass1",
    "Quick.fail",
    "Quick.DISABLED_pass",
    "Quick.refuse",
    "Quick.pass2",
    "Other.fault",
    "Other.crash",
    "Other.sleep",
]
CASES += ["Other.skip", "Param/0.refuse_and_fail", "Param/0.pass3"]
UNKNOWN = "rocm-perf-device: kernel k: illegal instruction: v_new v1: the device does not know this instruction"
FAULT = "rocm-perf-device: kernel k: pc 0x20 (entry + 0x8): memory access fault: global_load_dword v1, v[2:3], off; address 0x0"


def main() -> None:
    if "--gtest_list_tests" in sys.argv:
        print("Running main() from somewhere.cpp")
        for suite in dict.fromkeys(case.rpartition(".")[0] for case in CASES):
            print(f"{suite}.  # TypeParam = int")
            print(*(f"  {case.rpartition('.')[2]}  # GetParam() = 4" for case in CASES if case.startswith(suite)), sep="\n")
        return
    note("start")
    flags = next(word.partition("=")[2] for word in sys.argv if word.startswith("--gtest_flagfile="))
    chosen = re.search(r"--gtest_filter=(.*)", open(flags).read())[1].split(":")
    for case in CASES:
        if case in chosen:
            attempt(case)
    say("[  FAILED  ] Quick.fail")


def attempt(case: str) -> None:
    note(case)
    say(f"[ RUN      ] {case}")
    what = case.rpartition(".")[2].rstrip("123")
    if "refuse" in what or what == "fault":
        print(FAULT if what == "fault" else UNKNOWN, file=sys.stderr, flush=True)
    if what == "crash":
        os.abort()
    if what == "refuse":
        sys.exit(134)
    if what == "sleep":
        time.sleep(60)
    if "fail" in what or what == "fault":
        say("test.cpp:3: Failure\nExpected equality of these values:\n  found\n    Which is: 3\nhipErrorOutOfMemory")
        say(f"[  FAILED  ] {case}, where GetParam() = 4 (2 ms)")
    elif what == "skip":
        say(f"[  SKIPPED ] {case} (0 ms)")
    else:
        say(f"on the same line [       OK ] {case} (1 ms)")


def say(text: str) -> None:
    print(text, flush=True)


def note(text: str) -> None:
    with open(os.environ["NOTES"], "a") as file:
        file.write(text + "\n")


main()
