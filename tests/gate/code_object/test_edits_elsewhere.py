"""No edit outside the target is accepted, whether tokens of Clang's own lexer are deleted, doubled, swapped or replaced."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.hip_source.source import TranslationUnit

pytestmark = pytest.mark.usefixtures("hipcc")
PROGRAM = Path(__file__).parents[1].joinpath("program.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942")
HONEST = (b"sum += x * x;", b"sum = __builtin_fmaf(x, x, sum);")
# Text to insert between tokens elsewhere, and words that matter in another language in the same file.
STRANGERS = (
    b"#", b"\n#define count 1\n", b"\n#pragma pack(1)\n", b"{", b"}", b";", b"0", b"/*", b"*/", b"//", b'"', b"\\\n", b"asm",
    b"template <>", b"__device__", b"static", b"const", b"namespace x {}", b"_Pragma(\"once\")",
)  # fmt: skip


def _places(unit: TranslationUnit, kernel) -> list[tuple[int, int]]:
    """An edit of the tokens outside the kernel."""
    extents = [token.extent for token in unit.cursor.get_tokens() if token.kind.name != "COMMENT"]
    places = [(extent.start.offset, extent.end.offset) for extent in extents]
    return [(start, end) for start, end in places if end <= kernel.span.start or start >= kernel.body.end]


def _edited(text: bytes, places: list[tuple[int, int]], random_: random.Random) -> bytes:
    (a, b), (c, d) = sorted(random_.sample(places, 2))
    how = random_.choice(("delete", "double", "swap", "replace", "insert", "stranger"))
    one, other = text[a:b], text[c:d]
    if how == "delete":
        return text[:a] + text[b:]
    if how == "double":
        return text[:b] + b" " + one + text[b:]
    if how == "swap":
        return text[:a] + other + text[b:c] + one + text[d:]
    if how == "replace":
        return text[:a] + other + text[b:]
    if how == "insert":
        return text[:a] + other + b" " + text[a:]
    return text[:a] + random_.choice(STRANGERS) + text[a:]


def _words(text: bytes) -> list[str]:
    """Tokens by Clang's lexer, without comments; directives end with their line."""
    unit = read(PROGRAM, COMMAND, text=text)
    lines = text.split(b"\n")
    try:
        tokens = list(unit.device.cursor.get_tokens())
    except Exception:  # it does not compile, so it is not the same
        return ["does not compile"]
    return [
        f"{token.spelling} {lines[token.location.line - 1].lstrip().startswith(b'#')}"
        for token in tokens
        if token.kind.name != "COMMENT"
    ]


def _try(count: int, seed: int) -> tuple[int, list[bytes]]:
    """The number of edits, and those from which something was adopted although the text elsewhere is not the same."""
    baseline = read(PROGRAM, COMMAND)
    kernel, random_ = baseline.kernel("rows"), random.Random(seed)
    places, accepted = _places(baseline.device, kernel), []
    with CandidateReader(baseline) as reader:
        assert not isinstance(reader.change(baseline.text.replace(*HONEST), kernel.identity), str)
        for _ in range(count):
            edited = _edited(baseline.text, places, random_)
            if not isinstance(reader.change(edited.replace(*HONEST), kernel.identity), str) and _words(edited) != _words(
                baseline.text
            ):
                accepted.append(edited)
    return count, accepted


def test_edits_outside_the_target_are_never_accepted():
    assert _try(80, seed=1) == (80, [])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_two_thousand_edits_outside_the_target_are_never_accepted(seed):
    assert _try(200, seed) == (200, [])
