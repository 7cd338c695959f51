"""The shape that a candidate's text means, and every text that means none."""

from __future__ import annotations

import pytest

from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.gate.source.launch_rule import LaunchRule, constant_size, launch_text
from rocm_perf_lab.gate.source.launch_shape_reader import UnreadableShapeError, read_shape
from rocm_perf_lab.hip_source.integer_expression import INT, Constant, LaunchArgument, NoValueError
from rocm_perf_lab.hip_source.launch_syntax import operands_of
from rocm_perf_lab.replaying import Case, LaunchConfiguration

N = LaunchArgument(0, INT, INT, "n")
NAMES = {"n": N, "BLOCK": Constant(64, INT)}


def shape(text: str, stream: str = ""):
    return read_shape(text.split(), NAMES, stream.split())


def launched(text: str, n: int, stream: str = "") -> LaunchConfiguration:
    return LaunchRule(shape(text, stream), ((0, 4),)).launch_of({N: n})


@pytest.mark.parametrize(
    "text, n, groups, size, lds",
    [
        ("n , 64", 5, (5, 1, 1), (64, 1, 1), 0),
        ("( n + 63 ) / BLOCK , BLOCK", 100, (2, 1, 1), (64, 1, 1), 0),
        ("n - 2 * 3 , 8", 10, (4, 1, 1), (8, 1, 1), 0),
        ("n / 2 / 2 , 8", 16, (4, 1, 1), (8, 1, 1), 0),
        ("n % 4 + 1 , 8", 7, (4, 1, 1), (8, 1, 1), 0),
        ("dim3 ( n ) , dim3 ( 8 , 4 )", 3, (3, 1, 1), (8, 4, 1), 0),
        ("dim3 ( n , 2 , 4 ) , dim3 ( 8 , 4 , 2 ) , n * 4", 3, (3, 2, 4), (8, 4, 2), 12),
        ("1'0 , 0 + 8u , 64ul", 1, (10, 1, 1), (8, 1, 1), 64),
    ],
)
def test_arithmetic_means_what_it_says(text, n, groups, size, lds):
    assert launched(text, n) == LaunchConfiguration(groups, size, lds)
    assert operands_of(text.split())


@pytest.mark.parametrize(
    "text, said",
    [
        ("n", "has 1 operands between"),
        ("n , 1 , 2 , s , 3", "has 5 operands between"),
        ("n , 64 , 0 , s", "is on a different stream from the baseline's `default stream`"),
        ("m , 64", "has a shape with `m`: only"),
        ("n + , 64", "has a shape that ends too early"),
        ("n n , 64", "has a shape with `n`, where it should end"),
        ("( n , 64", "has 1 operands"),
        ("dim3 ( n 2 ) , 64", "has a shape with `2` where `)` is expected"),
        ("dim3 n , 64", "has a shape with `n` where `(` is expected"),
        ("dim3 ( 1 , 1 , 1 , 1 ) , 64", "has a shape with `,` where `)` is expected"),
        ("0x10 , 64", "has a shape with `0x10`"),
        ("010 , 64", "has a shape with `010`"),
        ("99999999999999999999 , 64", "has a shape with 99999999999999999999, which is too large"),
        ("5000000000u , 64", None),
        ("( " * 20 + "n" + " )" * 20 + " , 64", None),
        ("( " * 21 + "n" + " )" * 21 + " , 64", "has a shape with too many parentheses"),
        ("n + " * 98 + "n , 64 ,", "has a shape that ends too early"),
        ("n + " * 99 + "n , 64", "has a shape of more than 200 tokens"),
    ],
)
def test_anything_else_means_nothing(text, said):
    if said is None:
        shape(text)
        return
    with pytest.raises(UnreadableShapeError) as refused:
        shape(text)
    assert str(refused.value).startswith(said)


def test_the_stream_is_the_baselines():
    assert launched("n , 64 , 0 , s", 2, "s") == LaunchConfiguration((2, 1, 1), (64, 1, 1))
    for text in ("n , 64", "n , 64 , 0 , t"):
        with pytest.raises(UnreadableShapeError, match="is on a different stream from the baseline's `s`"):
            shape(text, "s")


@pytest.mark.parametrize(
    "text, plain, size",
    [
        ("dim3 ( n , 1 , 1 ) , dim3 ( 64 )", "n, 64", 64),
        ("dim3 ( n , 1 , 2 ) , dim3 ( 8 , 4 )", "dim3(n, 1, 2), dim3(8, 4)", 32),
        ("n , n , 16", "n, n, 16", None),
    ],
)
def test_the_gate_writes_the_shape_in_its_own_words(text, plain, size):
    assert launch_text(shape(text)) == plain and constant_size(shape(text)) == size


def n_bytes(n: int) -> bytes:
    return n.to_bytes(4, "little", signed=True)


@pytest.fixture
def capture(in_memory):
    """A dispatch of four workgroups of 64 with n = 256."""
    return in_memory({}, kernarg=n_bytes(256) + bytes(60))


def test_a_rule_takes_its_arguments_from_the_dispatch_and_what_is_laid_over_it(capture):
    rule = LaunchRule(shape("n / 64 , 64"), ((0, 4),))
    assert rule.launch(capture) == LaunchConfiguration((4, 1, 1), (64, 1, 1)) and rule.mismatch_with(capture) is None
    assert rule.launch(capture, [(0x9000, n_bytes(512))]).groups == (8, 1, 1)
    assert rule.launch(capture, [(0x8FFE, b"\0\0" + n_bytes(640)), (0x9004, b"\1")]).groups == (10, 1, 1)
    assert rule.launch(capture, [(0x9004, b"\1"), (0x8FFC, bytes(4))]).groups == (4, 1, 1)
    other = LaunchRule(shape("n / 32 , 32"), ((0, 4),)).mismatch_with(capture)
    assert other == "the source gives 8 workgroups of 32, but the dispatch had 4 workgroups of 64"
    with pytest.raises(NoValueError, match="n has a different size in the kernel's arguments"):
        LaunchRule(shape("n , 64"), ((0, 8),)).launch(capture)
    assert "workgroups of 2048" in LaunchRule(shape("1 , 2048"), ()).mismatch_with(capture)


def test_code_is_replayed_as_its_rule_launches_it(capture, tmp_path):
    assert ReplayableCode().launch(capture) is None and ReplayableCode().packet(capture) == {
        "grid": [256, 1, 1],
        "workgroup": [64, 1, 1],
    }
    same, half = (ReplayableCode(None, LaunchRule(shape(text), ((0, 4),))) for text in ("n / 64 , 64", "n / 128 , 64"))
    assert same.launch(capture) is None and half.packet(capture) == {"grid": [128, 1, 1], "workgroup": [64, 1, 1]}
    ran = []

    def run(some):
        ran.extend(some)
        return [f"ran {number}" for number in range(len(some))]

    cases = [Case(), Case(overlays=((0x9000, n_bytes(0)),)), Case(overlays=((0x9000, n_bytes(256)),))]
    outcomes = half.replay(
        capture, cases, lambda some: ran.extend(some) or [f"ran {one}" for one in range(len(some))], tmp_path
    )
    assert outcomes[0] == "ran 0" and outcomes[2] == "ran 1" and len(ran) == 2
    assert outcomes[1].failure.startswith("it cannot be launched: ") and outcomes[1].dump == tmp_path
    assert [one.launch.groups for one in ran] == [(2, 1, 1)] * 2
    assert half.replay(capture, cases[1:2], lambda _some: pytest.fail("nothing can be launched"), tmp_path)[0].failure
