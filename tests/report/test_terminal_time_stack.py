"""What a time stack says, word for word, on both sides of each limit."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.report.explain_document import CaptureExplanation
from rocm_perf_lab.report.schema import KernelAnalysis
from rocm_perf_lab.report.terminal_time_stack import (
    in_short,
    line_in_words,
    lines,
    only_line,
    render_capture,
    render_lines,
    render_stack,
    with_line,
)
from rocm_perf_lab.report.thread_trace_schema import InstructionGain, LineGain, StackPart, ThreadTraceSection, TimeStackSection

LATENCY = "put more loads in flight: unroll, load ahead of use, make each load wider, run more waves"
REST = "of 1 ms; all modelled, in experiments on the software device"


def part(name: str, share: float, first: int = 300_000, last: int = 100_000) -> StackPart:
    return StackPart(name=name, spent_on=f"all {name}", ns=1e6 * share, share=share, first_ns=first, last_ns=last)


def line(source: str, gain: int, **by_cause: int) -> LineGain:
    return LineGain(source=source, gain_ns=gain, by_cause_ns={name.replace("_", "-"): ns for name, ns in by_cause.items()})


def stack(parts=(), of_lines=(), instructions=(), ns: int = 1_000_000) -> TimeStackSection:
    accesses = [
        InstructionGain(isa=isa, source=source, gain_ns=gain, reasons={} if source else {"source": "no line numbers"})
        for isa, source, gain in instructions
    ]
    return TimeStackSection(duration_ns=ns, parts=[*parts], rest_ns=0, lines=[*of_lines], instructions=accesses)


def printed(render, *given) -> list[str]:
    out = io.StringIO()
    render(*given, Console(file=out, width=400))
    return [" ".join(line.split()) for line in out.getvalue().splitlines() if line.strip()]


def test_a_part_is_shown_from_a_hundredth_of_the_time_upwards():
    found = [*lines(stack([part("memory-latency", 0.5), part("other", 0.01), part("small", 0.0099)]), with_changes=True)]
    assert found == [
        f"50.0 % on all memory-latency (memory-latency): without it 30.0 % less time, after all others 10.0 %; {LATENCY}",
        "1.0 % on all other (other): without it 30.0 % less time, after all others 10.0 %",
        f"49.0 % on the rest {REST}",
    ]
    assert not any(LATENCY in text for text in lines(stack([part("memory-latency", 0.5)])))
    assert [*lines(stack())] == [f"100.0 % on the rest {REST}"]


def test_lines_and_accesses_that_gain_a_hundredth_and_three_of_each_at_most():
    of_lines = [line(f"a.hip:{number}", 500_000 - number) for number in range(1, 5)]
    loads = [
        ("load v1", "a.hip:1", 10_000),
        ("load v2", None, 10_000),
        ("load v3", "a.hip:3", 9_999),
        ("load v4", None, 20_000),
    ]
    found = printed(render_stack, stack((), of_lines, loads))
    assert found[0] == f"Time 100.0 % on the rest {REST}"
    assert found[1:] == [
        "Line a.hip:1: without it 50.0 % less time",
        "a.hip:2: without it 50.0 % less time",
        "a.hip:3: without it 50.0 % less time",
        "Access a.hip:1, `load v1`: without it 1.0 % less time",
        "`load v2`: without it 1.0 % less time",
    ]
    assert len(printed(render_stack, stack((), [line("a.hip:1", 10_000), line("a.hip:2", 9_999)]))) == 2


def test_a_line_names_the_causes_that_matter_in_it():
    one = line("a.hip:7", 400_000, bank_conflicts=9_999, memory_latency=10_000, unheard_of=200_000)
    assert line_in_words(stack(), one) == (
        "a.hip:7: without it 40.0 % less time; without unheard-of there, 20.0 % less time; "
        "if its loads had no latency, 1.0 % less time"
    )
    assert printed(render_lines, stack((), [one]), "sum()") == ["sum(), 1 ms", f"Line {line_in_words(stack(), one)}"]


def test_the_largest_parts_in_short():
    shares = {"a": 0.4, "b": 0.3, "c": 0.05, "d": 0.05}
    assert (
        in_short(stack([part(name, share) for name, share in shares.items()]))
        == "40.0 % on all a, 30.0 % on all b, 5.0 % on all c"
    )
    assert in_short(stack([part("a", 0.05), part("b", 0.0499)])) == "5.0 % on all a"
    assert in_short(stack()) == ""


LONGER = ": 25.0 % longer than recorded"
ERROR = "the model's error for such kernels, "


@pytest.mark.parametrize(
    "recorded, timing, within, beyond, said",
    [
        (800_000, "modelled", 0.2, None, ""),
        (0, "measured", 0.2, None, ""),
        (800_000, "measured", None, None, f"{LONGER}; the model's error for such kernels is not known"),
        (
            2_000_000, "measured", 0.6, False,
            f": 50.0 % shorter than recorded, within {ERROR}±60.0 % (four of five measured times)",
        ),
        (
            800_000, "measured", 0.2, True,
            f"{LONGER}, more than {ERROR}±20.0 % (four of five measured times); do not rely on what follows",
        ),
    ],
)  # fmt: skip
def test_the_time_of_a_replay_beside_the_recorded_one(recorded, timing, within, beyond, said):
    one = CaptureExplanation(
        kernel="sum()",
        recorded_ns=recorded,
        recorded_timing=timing,
        time_stack=stack(),
        model_within=within,
        beyond_error=beyond,
    )
    kernel, took, replay, *_ = printed(render_capture, one)
    assert kernel == "sum()" and took.endswith(f"when it was captured, {timing}")
    assert replay == f"Replay 1 ms from cold caches, modelled{said}"


def kernel(of_lines) -> KernelAnalysis:
    trace = ThreadTraceSection.model_construct(time_stack=stack((), of_lines)) if of_lines is not None else None
    return KernelAnalysis.model_construct(thread_trace=trace)


@pytest.mark.parametrize("wanted", ["7", "a.hip:7", "src/a.hip:7", "/home/me/src/a.hip:7"])
def test_a_line_is_found_by_its_number_or_the_end_of_its_path(wanted):
    of_lines = [line("/home/me/src/a.hip:17", 5), line("/home/me/src/a.hip:7", 3)]
    assert [one.source for one in only_line(stack((), of_lines), wanted).lines] == ["/home/me/src/a.hip:7"]
    kernels = [kernel(None), kernel([]), kernel(of_lines[:1]), kernel(of_lines)]
    (found,) = with_line(kernels, wanted)
    assert [one.source for one in found.thread_trace.time_stack.lines] == ["/home/me/src/a.hip:7"]


def test_a_line_without_an_experiment_is_reported_with_lines_that_have_one():
    of_lines = [line(f"a.hip:{number}", 5) for number in range(1, 6)]
    for find in (lambda wanted: only_line(stack((), of_lines), wanted), lambda wanted: with_line([kernel(of_lines)], wanted)):
        with pytest.raises(UsageError) as error:
            find("b.hip:1")
        assert error.value.problem == "no experiment was made with line b.hip:1"
        assert error.value.hint == "name one of those with most to gain, such as a.hip:1, a.hip:2, a.hip:3"
    with pytest.raises(UsageError, match="no source lines are known"):
        with_line([kernel(None)], "7")


def test_the_name_of_a_kernel_is_not_indented():
    one = CaptureExplanation(
        kernel="sum()", recorded_ns=0, recorded_timing="measured", time_stack=stack(), model_within=None, beyond_error=None
    )
    for render, given in ((render_capture, (one,)), (render_lines, (stack(), "sum()"))):
        out = io.StringIO()
        render(*given, Console(file=out, width=400))
        assert out.getvalue().splitlines()[0].split(",")[0] == "sum()"
