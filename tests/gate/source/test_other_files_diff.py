"""Other files of a candidate: only the shapes of launches may differ, and no directive may read a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.gate.change import LaunchText
from rocm_perf_lab.gate.source.other_files_diff import ChangeNotAllowedError, expect_no_new_directive, launches_in

BASELINE = b"#include <a.h>\n#define N 4\n#include <a.h>\nint x;\n"


@pytest.mark.parametrize(
    "candidate",
    [
        BASELINE,
        b"#include   <a.h>  \n  #include <a.h>\nint y;\n#define M 3\n#undef N\n#pragma unroll\n",
        b"int included; // #include <b.h>\n",
        b"",
    ],
)
def test_directives_of_the_baseline_may_stay(candidate):
    expect_no_new_directive(BASELINE, candidate)


@pytest.mark.parametrize(
    "directive",
    [
        "#include <b.h>",
        "#include_next <a.h>",
        "#import <a.h>",
        '#embed "/etc/passwd"',
        "%:define X",
        "#define X ??/",
        "#define X \\\n1",
        "#pragma once \\\n include",
        "#include " + "".join(map(str, range(100))),
    ],
)
def test_a_new_directive_that_reads_or_hides_something_is_refused(directive):
    candidate = BASELINE + f"int y;\n{directive}\n".encode()
    shown = " ".join(directive.split("\n")[0].split())[:80]
    with pytest.raises(ChangeNotAllowedError) as refused:
        expect_no_new_directive(BASELINE, candidate)
    said = "a preprocessor directive that reads other files, or may hide one that does"
    assert str(refused.value) == f"line 6 is `{shown}`, {said}"


def test_each_directive_may_occur_as_often_as_before():
    expect_no_new_directive(BASELINE, b"#include <a.h>\n" * 2)
    with pytest.raises(ChangeNotAllowedError, match="^line 4 is `#include <a.h>`"):
        expect_no_new_directive(BASELINE, b"#include <a.h>\n" * 2 + b"int y;\n#include <a.h>\n")


FILE = Path("/sources/main.hip")
LAUNCHES = b"// main\nk<<<1, 2>>>(x);\nm<<<3, 4>>>(x);\n#define N 1\n"


@pytest.mark.usefixtures("hipcc")
def test_the_shapes_that_differ_are_those_of_launches():
    changed = LAUNCHES.replace(b"<<<3, 4>>>", b"<<<(n + 7) / 8, 9>>>").replace(b"// main\n", b"// other\n\n")
    shape = LAUNCHES.index(b"3, 4")
    expected = [LaunchText(shape, shape + 4, 3, ("(", "n", "+", "7", ")", "/", "8", ",", "9"), FILE)]
    assert launches_in("hipcc", FILE, LAUNCHES, changed) == expected
    assert launches_in("hipcc", FILE, LAUNCHES, LAUNCHES.replace(b"<<<1, 2>>>", b"<<< 1,2 >>>")) == []
    both = launches_in("hipcc", FILE, LAUNCHES, changed.replace(b"<<<1, 2>>>", b"<<<1, 3>>>"))
    assert [one.line for one in both] == [2, 3]


@pytest.mark.usefixtures("hipcc")
@pytest.mark.parametrize(
    "old, new, where",
    [
        (b"(x);\nm", b"(y);\nm", "line 2"),
        (b"#define N 1\n", b"", "line 4"),
        (b"#define N 1\n", b"#define N 1\nint y;\n", "line 5"),
        (b"m<<<3, 4>>>(x);", b"", "line 4"),
        (b"m<<<3, 4>>>(x);", b"m(x);", "line 3"),
    ],
)
def test_the_place_of_any_other_difference_is_named(old, new, where):
    with pytest.raises(ChangeNotAllowedError) as refused:
        launches_in("hipcc", FILE, LAUNCHES, LAUNCHES.replace(old, new))
    said = "in other files only the shapes of the kernel's launches may differ"
    assert str(refused.value) == f"main.hip differs in {where}: {said}"


@pytest.mark.usefixtures("hipcc")
def test_other_files_may_not_read_more_either():
    with pytest.raises(ChangeNotAllowedError, match="^line 5 is `#include <b.h>`"):
        launches_in("hipcc", FILE, LAUNCHES, LAUNCHES + b"#include <b.h>\n")
