"""The terminal report: in plain text without a terminal, never hiding what is modelled, guessed or unknown."""

from __future__ import annotations

import io
import re
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import rocpd_database
from rocm_perf_lab.arch.counter_passes import counter_passes
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.report.terminal import render
from rocm_perf_lab.report.terminal_short import render_short
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import short_name
from rocpd_database import Copy, Dispatch

COUNTERS = dict.fromkeys(family_of("gfx942").counters(), [0.0]) | {
    "SQ_INSTS_VALU_FMA_F32": [1000.0],
    "TCC_BUBBLE_sum": [50_000.0],
    "TCC_EA0_RDREQ_sum": [50_000.0],
    "SQ_INSTS_VMEM": [1000.0],
    "TCP_TOTAL_CACHE_ACCESSES_sum": [64_000.0],
    "SQ_WAVES": [9728.0],
    "SQ_ITEMS": [622592.0],
    "SQ_WAVE_CYCLES": [5e8],
    "SQ_WAIT_ANY": [4.5e8],
    "GRBM_GUI_ACTIVE": [210_000.0],
}


def report(path, width=100, terminal=False):
    out = io.StringIO()
    render(analyse(path), Console(file=out, width=width, force_terminal=terminal))
    return out.getvalue()


def flat(text):
    return " ".join(text.split())


@pytest.fixture
def modelled(tmp_path):
    kernel = "void softmax<float, [1]>(float const*, float*, int)"
    work = [Copy(0, 5000), Dispatch(kernel, 6000, 106_000, grid=622592, counters=COUNTERS, depends_on=[(0, "signal")])]
    return rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)


def test_what_was_found_why_and_what_next(modelled):
    text = flat(report(modelled))
    assert "MODELLED: no GPU ran this" in text and "software gfx942" in text
    assert "softmax<float, [1]>: 94.3 % of the critical path of 106 us" in text
    assert "the GPU would finish at most 17.67x faster" in text
    assert "latency-bound: its waves spend most of their life waiting" in text and "wait fraction 90.0 % >= 50.0 %" in text
    assert "uncoalesced-access" in text and "l1 accesses per vmem instruction 64)" in text
    assert "Roofline: memory-bound at 0.02 FLOP/byte" in text
    assert "What to try next - let neighbouring lanes touch neighbouring addresses" in text
    assert "EXEC" in text and "MALL" in text, "biases stand beside the figures"


@pytest.mark.parametrize(("target", "calibrated"), [("gfx942", True), ("gfx90a", False), ("gfx1030", False), ("gfx950", False)])
def test_an_uncalibrated_model_is_labelled_as_such(tmp_path, target, calibrated):
    work = [Dispatch("k", 6000, 106_000, counters=dict.fromkeys(family_of(target).counters(), [1.0]))]
    documents = analyse(rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED, target=target))
    out = io.StringIO()
    render(documents, Console(file=out, width=100))
    render_short(documents, tmp_path, Console(file=out, width=100))
    text = flat(out.getvalue())
    assert ("Not calibrated: none of its parameters was fitted" in text) is not calibrated
    assert ("MODELLED, not calibrated: no GPU ran this" in text) is not calibrated


@pytest.mark.parametrize("width", [60, 80, 140])
def test_plain_text_without_a_terminal(modelled, width):
    text = report(modelled, width)
    assert "\x1b" not in text
    prose = [line for line in text.splitlines() if not line.startswith("    ") and "  " not in line.strip()]
    assert prose and all(len(line) <= width for line in prose)
    assert all(line == line.rstrip() for line in prose)
    assert "\x1b[" in report(modelled, width, terminal=True)


def test_measured_times_carry_no_such_label_but_say_what_was_inferred(tmp_path):
    work = [Dispatch("k", 0, 10_000), Dispatch("k", 20_000, 40_000, grid=10_000_000)]
    text = flat(report(rocpd_database.write(tmp_path / "t.db", work)))
    assert "MODELLED" not in text
    assert "dependencies are inferred" in text
    assert "one run, so the spread is not known" in text
    assert "not judged" in text and "no counters were collected" in text
    assert "Try collect the missing counters: the end of the full report says how" in text


def test_missing_counters_come_with_the_commands_that_collect_them(tmp_path):
    """The same passes that a profile makes, each on a separate line, whatever the width."""
    work = [Dispatch("k", 0, 10_000, grid=10_000_000)]
    text = report(rocpd_database.write(tmp_path / "t.db", work), width=60)
    lines = [line.split() for line in text.splitlines() if line.startswith("    rocprofv3 --pmc ")]
    assert [line[2 : line.index("--output-format")] for line in lines] == counter_passes("gfx942")
    assert {tuple(line[-6:]) for line in lines} == {("--output-format", "rocpd", "-d", "counters", "--", "./app")}


def test_missing_gpu_times_are_reported(tmp_path):
    text = flat(report(rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 5, 5)])))
    assert "Time in kernels: not known (the dispatches have no duration" in text


@pytest.mark.parametrize(
    "kernel, short",
    [
        ("void f<1u, (Kind)2>(int, float (*)(int))", "f<1u, (Kind)2>"),
        ("vadd(float const*, float const*, float*, int)", "vadd"),
        ("__amd_rocclr_copyBuffer", "__amd_rocclr_copyBuffer"),
        ("(anonymous namespace)::g(int)", "(anonymous namespace)::g"),
    ],
)
def test_a_short_name_has_no_return_type_or_arguments(kernel, short):
    assert short_name(kernel) == short


@given(st.floats(1, 1e13))
def test_durations_have_suitable_units(ns):
    number, unit = quantities.duration(ns).split()
    back = float(number.replace(",", "")) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert back == pytest.approx(ns, rel=0.01, abs=0.5)


def test_copies_that_outweigh_the_kernels_are_not_buried(tmp_path):
    work = [Copy(0, 50_000), Dispatch("k", 51_000, 61_000, depends_on=[(0, "signal")])]
    text = flat(report(rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)))
    assert "copies are 82.0 % of the path, more than any kernel" in text


def test_the_answer_comes_before_everything_that_explains_it(modelled):
    text = report(modelled)
    answer = flat(text[text.index("In short") : text.index("Which kernel holds the program back")])
    assert answer.startswith("In short Kernel softmax<float, [1]>, 94.3 % of the critical path of 106 us Cause latency-bound")
    assert re.search(r"Gain at most 1\d\.\d\dx for the GPU's span, with this kernel at its ceiling \(HBM\)", answer), answer
    assert "Try let neighbouring lanes touch neighbouring addresses" in answer
    assert len(text[: text.index("Which kernel holds")].splitlines()) <= 14


def test_a_gpu_that_mostly_waits_is_part_of_the_answer(tmp_path):
    work = [Dispatch("k", 0, 10_000), Dispatch("k", 90_000, 100_000, depends_on=[(0, "host")])]
    text = flat(report(rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED), 400))
    assert "But the GPU ran no kernel for 80.0 % of its span: 80 us of it waiting for" in text


@pytest.mark.parametrize(
    ("gpus", "others", "named", "left"),
    [(2, "1 other GPU", 2, []), (8, "7 other GPUs", 8, []), (11, "10 other GPUs", 8, ["3"])],
)
def test_the_answer_names_the_idlest_of_many_idle_gpus(tmp_path, gpus, others, named, left):
    """All ran kernels for 20 us: the second for 20 of 200 us, the others for 20 of 100."""
    last = {gpu: 190_000 if gpu == 2 else 90_000 for gpu in range(1, gpus + 1)}
    work = [Dispatch("k", 0, 10_000, queue=gpu, agent=gpu) for gpu in last]
    work += [Dispatch("k", start, start + 10_000, queue=gpu, agent=gpu) for gpu, start in last.items()]
    database = rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)
    with sqlite3.connect(database) as connection:
        columns = "type, name, product_name, uuid, extdata"
        connection.executemany(
            f"INSERT INTO rocpd_info_agent (id, {columns}) SELECT ?, {columns} FROM rocpd_info_agent WHERE id = 1",
            [(gpu,) for gpu in last if gpu > 1],
        )
    answer, rest = report(database, 400).split("Which kernel holds")
    (line,) = re.findall(r"But .*", answer)
    assert "GPU agent 2 ran no kernel for 90.0 % of its span: 180 us of it waiting for" in line
    assert line.endswith(f"; {others} mostly waited as well")
    assert len(re.findall(r"GPU agent \d+ ran no kernel", rest)) == named
    assert re.findall(r"(\S+) more GPUs in dag.json.", rest) == left


def test_how_sure_the_verdict_is_in_one_word(modelled):
    text = flat(report(modelled))
    assert "Certain: no missing number could change it. Scores (a class applies from 0.50 on): latency-bound" in text
    assert "confidence" not in text


def test_each_kernel_under_the_roofs_by_hand(tmp_path):
    """The kernels take 100 and 300 us; each reads 50,000 times 128 bytes and executes 1,000 fp32 FMAs with 64 lanes."""
    work = [
        Dispatch("first(int)", 0, 100_000, grid=622592, counters=COUNTERS),
        Dispatch("second(int)", 100_000, 400_000, grid=622592, counters=COUNTERS),
    ]
    text = report(rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED), 140)
    rows = text[text.index("The kernels under the roofs") :].splitlines()[2:5]
    flop, bytes_ = 1000 * 64 * 2, 50_000 * 128
    expected = [("second", 1, 300), ("first", 1, 100), ("all kernels of the program", 2, 400)]
    for row, (name, times, us) in zip(rows, expected, strict=True):
        first, intensity, attained, _, _, hbm, side = re.split(r"\s{2,}", row.strip())
        assert (first, intensity, side) == (name, f"{flop / bytes_:.2f}", "memory-bound")
        assert attained == quantities.amount(times * flop / us / 1e3, "GFLOP/s")
        assert hbm == quantities.amount(times * bytes_ / us / 1e3, "GB/s")
