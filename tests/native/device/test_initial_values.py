"""The initial contents of registers, LDS and private memory: zeros, or random words drawn from a seed."""

from __future__ import annotations

import pytest

from hip_compiler import compile_hip

KINDS = ("vector register", "scalar register", "LDS", "private memory")
RACES_FOUND = 35  # the program reads LDS that nothing has written


@pytest.fixture(scope="module")
def program(repository, tmp_path_factory):
    program = tmp_path_factory.mktemp("initial") / "initial_values"
    source = repository / "tests" / "programs" / "initial_values.hip"
    compile_hip("--offload-arch=gfx942", "-O2", "-Wno-uninitialized", "-o", program, source)
    return program


@pytest.fixture
def words(native_dir, program, rocm_perf):
    """words(option, ...) -> for each launch and each kind of storage, the words that the lanes found."""

    def words(*options: str) -> list[tuple[tuple[int, ...], ...]]:
        chosen = [word for option in options for word in ("--device-option", option)]
        done = rocm_perf("run", "--device", "gfx942", *chosen, program)
        assert done.returncode in (0, RACES_FOUND), done.stderr
        launches = [[int(word, 16) for word in line.split()] for line in done.stdout.splitlines()]
        return [tuple(tuple(launch[kind :: len(KINDS)]) for kind in range(len(KINDS))) for launch in launches]

    return words


@pytest.mark.parametrize("options", [(), ("initial-values=0",), ("race-check=3",), ("race-check=3", "initial-values=0")])
def test_contents_are_zero_unless_words_are_requested(words, options):
    assert {word for launch in words(*options) for kind in launch for word in kind} == {0}


@pytest.mark.parametrize("order", [(), ("race-check=3",)])
def test_words_are_drawn_for_each_launch_from_the_seed(words, order):
    drawn = words("initial-values=5", *order)
    for number, kind in enumerate(KINDS):
        of_launches = [launch[number] for launch in drawn]
        assert len(set(of_launches)) == len(of_launches) == 3, kind
        assert all(0 not in found for found in of_launches), kind
        lanes = 1 if kind == "scalar register" else 64
        assert all(len(set(found[:64])) >= min(lanes, 60) for found in of_launches), kind
    assert drawn == words("initial-values=5", *order)
    assert drawn != words("initial-values=6", *order)
