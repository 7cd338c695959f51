"""The race check finds planted races and reports nothing for correct kernels."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.arch.counters import SOFTWARE_TARGETS
from rocm_perf_lab.collect.device import has_race_check

SOURCE = Path(__file__).parents[2] / "programs" / "races.hip"
TARGETS = tuple(filter(has_race_check, SOFTWARE_TARGETS))
RACES_FOUND = 35
LOADED_EARLY = r"race in global memory, .*store .*global_store_dword .* and load .*global_load_dword"

PLANTED = {
    "missing_barrier": r"race in LDS, .*ds_write_b32",
    "plain_histogram": r"race in global memory, .*global_load_dword.* and store .*global_store_dword",
    "cross_wave": r"race in global memory, .*store by wave \d+ of workgroup (\d+) .* and store by wave \d+ of workgroup \1 ",
    "write_back<too_early>": LOADED_EARLY,
    "chained_sums<relaxed>": LOADED_EARLY,
    "chained_sums<plain>": r"scalar load of what the dispatch has written.*global_store_dword.*s_load_dword",
    "guarded<without_acquire>": LOADED_EARLY,
    "guarded<without_release>": LOADED_EARLY,
    "last_block_sums<first>": LOADED_EARLY,
    "last_block_sums<after_the_message>": LOADED_EARLY,
    "unwritten_lds": r"read of LDS that nothing has written, 192 times, .*ds_read",
}
LEFT_BEHIND = r"what the write-back at .*\(buffer_wbl2 sc1\) writes had not been waited for when the atomic "
NOT_WRITTEN_BACK = {  # by target: a release that is not waited for
    "gfx942": LEFT_BEHIND,
    "gfx90a": LOADED_EARLY,
    "gfx950": LEFT_BEHIND,
}
USED_EARLY = r"{0}\d+ is used before the load at entry \+ 0x\w+ \({1}.*\) has been waited for: at entry \+ 0x\w+ \({2}"
OVERTAKEN = (
    r"the store at entry \+ 0x\w+ \(global_store_dword .*\) had not been waited for when the atomic at entry \+ 0x\w+ "
    r"\(global_atomic_add .*\) was issued, so others may see the atomic first, \d+ times, "
    r"first with the store by wave {0} "
)
# The finding for each kernel with a counterpart that waits.
NOT_WAITED_FOR = {
    "late_write": r"race in LDS, .*store .*ds_write_b32 .* and load .*ds_read_b32 .* because the first had not been waited for",
    "late_read": r"race in LDS, .*load .*ds_read_b32 .* and store .*ds_write_b32 .* because the first had not been waited for",
    "late_flat_write": r"race in LDS, .*store .*flat_store_dword .* because the first had not been waited for",
    "late_transfer": r"race in LDS, .*store .*global_load_lds_dword .* because the first had not been waited for",
    "early_vector_use": USED_EARLY.format("v", "global_load_dword .* offset:4", "v_add"),
    "early_lds_use": USED_EARLY.format("v", "ds_read_b32", "v_add"),
    "early_scalar_use": USED_EARLY.format("s", "s_load_dword", "s_add_u32"),
    "stale_scalar": r"scalar load of what the dispatch has written.*global_store_dword.*s_load_dword",
    "early_overwrite": USED_EARLY.format("v", "global_load_dword", "v_mov_b32"),
}
OVERTAKING = {"publish<relaxed>": OVERTAKEN.format(0), "publish<barrier>": OVERTAKEN.format(1)}
PUBLISHED = [f"publish<{how}>" for how in ("fence", "release", "acq_rel", "seq_cst", "other_wave", "plain_other_wave")]
CORRECT = ["with_barrier", "atomic_histogram", "last_block_sums<both>", "bytes", "free_registers"]
CORRECT += ["write_back<waited_for>", "chained_sums<released>", "guarded<complete>", *PUBLISHED]
# Each group runs in one process.
GROUPS = (
    [*PLANTED, "write_back<under_way>", *(f"{name}<no>" for name in NOT_WAITED_FOR), *OVERTAKING],
    [*CORRECT, *(f"{name}<yes>" for name in NOT_WAITED_FOR)],
)
TESTBED = ["vcopy", "softmax_testbed", "pipeline", "reduction", "histogram", "gemm", "stencil"]


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("hip") / "races"
    targets = [f"--offload-arch={target}" for target in TARGETS]
    compile_hip(*targets, "-O2", "-o", program, SOURCE)
    return program


def on_each_target(*names: str) -> pytest.MarkDecorator:
    cases = [(target, name) for target in TARGETS for name in names if exists(name, target)]
    return pytest.mark.parametrize("target, name", cases, indirect=["target"])


def exists(name: str, target: str) -> bool:
    return target != "gfx90a" or not name.startswith("late_transfer")


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def check(rocm_perf, native_dir, target):
    def check(program: Path, *arguments: str, seed: int = 1, also: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        options = [word for option in (f"race-check={seed}", *also) for word in ("--device-option", option)]
        return rocm_perf("run", "--device", target, *options, program, *arguments)

    return check


@pytest.fixture(scope="module")
def seen() -> dict[tuple[str, int, str], list[str]]:
    """What the check reported for a kernel, by target, seed and kernel."""
    return {}


@pytest.fixture
def reports(check, races, target, seen):
    """reports(name): the lines that the check reports for the kernel, for each of two seeds."""

    def reports(name: str) -> list[list[str]]:
        for seed in (0, 7):
            if (target, seed, name) not in seen:
                ((number, group),) = ((i, group) for i, group in enumerate(GROUPS) if name in group)
                group = [one for one in group if exists(one, target)]
                done = check(races, *group, seed=seed)
                assert done.returncode == (0 if number else RACES_FOUND), (done.stdout, done.stderr)
                _, *parts = re.split(r"^kernel (.*)\n", done.stderr, flags=re.MULTILINE)
                assert parts[::2] == group
                for one, text in zip(parts[::2], parts[1::2], strict=True):
                    lines = [line for line in text.splitlines() if "race-check: kernel" in line]
                    assert all(one.partition("<")[0] in line for line in lines), lines
                    seen[target, seed, one] = lines
        return [seen[target, seed, name] for seed in (0, 7)]

    return reports


@on_each_target(*PLANTED)
def test_a_planted_race_is_found_under_every_seed(reports, name: str) -> None:
    for lines in reports(name):
        assert any(re.search(PLANTED[name], line) for line in lines), lines
        pairs = [tuple(sorted(re.findall(r"entry \+ (0x\w+)", line))) for line in lines if "race in" in line]
        assert len(pairs) == len(set(pairs)), "a pair of instructions is reported once"


def test_a_release_that_is_not_waited_for_is_found(reports, target) -> None:
    for lines in reports("write_back<under_way>"):
        assert any(re.search(NOT_WRITTEN_BACK[target], line) for line in lines), lines


@on_each_target(*NOT_WAITED_FOR)
def test_an_access_that_is_not_waited_for_is_found(reports, name: str) -> None:
    for lines in reports(f"{name}<no>"):
        assert len(lines) == 1 and re.search(NOT_WAITED_FOR[name], lines[0]), lines
    assert reports(f"{name}<yes>") == [[], []]


@on_each_target(*OVERTAKING)
def test_a_store_that_an_atomic_may_overtake_is_found(reports, name: str) -> None:
    for lines in reports(name):
        assert any(re.search(OVERTAKING[name], line) for line in lines), lines


def test_atomic_accesses_that_nothing_orders_are_reported_on_request(check, races) -> None:
    """The accesses of publish<fence> follow a message; only the counter, which all of them add to, is read without order."""
    for seed in (0, 7):
        done = check(races, "relaxed_exchange", seed=seed, also=["unordered-atomics"])
        found = r"atomic accesses in no order, .*: (atomic|load) by .* and (store|load) by .* are not ordered"
        assert done.returncode == RACES_FOUND and re.search(found, done.stderr), done.stderr
        for ordered in ("atomic_histogram", "last_block_sums<both>"):
            done = check(races, ordered, seed=seed, also=["unordered-atomics"])
            assert done.returncode == 0 and "race-check" not in done.stderr, done.stderr


@pytest.mark.parametrize("target", ["gfx942"], indirect=True)
def test_seed_0_is_the_usual_order(check, races) -> None:
    done = check(races, "usual_order_only", seed=0)
    assert done.returncode == RACES_FOUND, done.stderr
    assert re.search(r"race in LDS, .* store by wave 0 .* and load by wave 1 ", done.stderr)


@pytest.mark.parametrize("target", ["gfx942"], indirect=True)
def test_waves_fall_behind_each_other_unless_the_order_is_the_usual_one(check, races) -> None:
    """Each of the 32 workgroups has four waves, and each wave but the first reads one value of the wave before it."""
    missed = [int(check(races, "relaxed_exchange", seed=seed).stdout) for seed in range(4)]
    assert missed[0] == 0 and all(10 < count <= 96 for count in missed[1:]), missed


@on_each_target(*CORRECT)
def test_nothing_is_reported_for_a_correct_kernel(reports, name: str) -> None:
    assert reports(name) == [[], []]


@pytest.mark.parametrize(
    "target, name",
    [
        pytest.param(target, name, marks=() if target == "gfx942" else pytest.mark.slow)
        for target in TARGETS
        for name in TESTBED
    ],
    indirect=["target"],
)
def test_correct_programs_keep_their_results(check, testbed, target, name: str, tmp_path, repository) -> None:
    program = testbed(name)
    if target != "gfx942":
        program = tmp_path / name
        source = repository / "testbed" / f"{name.removesuffix('_testbed')}.hip"
        compile_hip(f"--offload-arch={target}", "-O3", "-o", program, source)
    done = check(program)
    assert done.returncode == 0 and "race-check" not in done.stderr, done.stderr
    assert "PASS" in done.stdout


def test_options_are_checked_before_anything_runs(rocm_perf, native_dir) -> None:
    for option, words in {"race-checks": "there is no such option", "kernel-limit=many": "not a whole number"}.items():
        done = rocm_perf("run", "--device", "gfx942", "--device-option", option, "true")
        assert done.returncode == 2 and words in done.stderr and option in done.stderr


@pytest.mark.parametrize("option", ["race-check=1", "unordered-atomics"])
def test_code_that_the_check_does_not_know_is_refused(rocm_perf, native_dir, option) -> None:
    done = rocm_perf("run", "--device", "gfx1030", "--device-option", option, "true")
    assert done.returncode == 2 and f"{option}: the race check does not support code for gfx1030" in done.stderr
