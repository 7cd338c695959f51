"""The search for one problem size: how much of its space is compiled in advance, and how a worker's answer is used."""

from __future__ import annotations

import struct
import threading
import types

import pytest

from rocm_perf_lab.autotune.cache import canonical
from rocm_perf_lab.autotune.entry import AutotuneRequest
from rocm_perf_lab.autotune.evaluation_outcome import BUILD_FAILED, FAILED, GPU, OK, TIMEOUT, WRONG_OUTPUT
from rocm_perf_lab.autotune.triton_kernel import size_search
from rocm_perf_lab.autotune.triton_kernel.bench import TritonFunctionBench
from rocm_perf_lab.autotune.triton_kernel.plan import TritonPlan
from rocm_perf_lab.autotune.triton_kernel.size_search import SizeSearch, _max_ahead
from rocm_perf_lab.autotune.triton_kernel.static_features import StaticFeatures
from rocm_perf_lab.errors import NothingRanError
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptTimeoutError


@pytest.mark.parametrize(
    "budget, most",
    [
        ("1", 64), ("16", 64), ("17", 68), ("255", 1020), ("256", 1024), ("257", 1024), ("90s", 1024), (None, 1024),
    ],
)  # fmt: skip
def test_four_configurations_per_evaluation_are_compiled_in_advance_within_limits(budget, most):
    assert _max_ahead(budget) == most


class Workers:
    """Answers with, or raises, the entry of `answers` for the block; `asked` holds the requests."""

    count = 1

    def __init__(self, answers):
        self._answers, self.asked = answers, []

    def ask(self, worker, *, do, values, folder):
        assert worker == 0 and do == "evaluate"
        self.asked.append(values)
        answer = self._answers[None if values is None else values["BLOCK"]]
        if isinstance(answer, Exception):
            raise answer
        return answer


TWO = ({"BLOCK": 16, "num_warps": 4}, {"BLOCK": 32, "num_warps": 4})


def search(folder, answers, configurations=TWO, budget=None, is_hardware=False):
    launch = dict(kernel="scale", source="", key={"M": 64}, constants=["BLOCK"], configurations=configurations,
                  arguments={"y": {"kind": "array", "dtype": "float32"}, "n": {"kind": "number"}})  # fmt: skip
    device = types.SimpleNamespace(target="gfx942", is_hardware=is_hardware, description="a device")
    bench = TritonFunctionBench(device, Workers(answers), folder, threading.Event())
    return SizeSearch(AutotuneRequest("random", 0, budget), TritonPlan(None), bench, launch, [], print), bench.workers


@pytest.mark.parametrize(
    "answer, status, reason",
    [
        (ScriptTimeoutError("no answer in 20 s"), TIMEOUT, "no answer in 20 s"),
        (ScriptExitedError("it ended with status 3"), FAILED, "it ended with status 3"),
        ({"error": "a fault", "is_dead": True}, FAILED, "a fault"),
        ({"error": "out of registers", "is_dead": False}, BUILD_FAILED, "out of registers"),
        ({"error": "out of registers"}, BUILD_FAILED, "out of registers"),
    ],
)
def test_how_a_configuration_failed(tmp_path, answer, status, reason):
    found, workers = search(tmp_path, {32: answer})
    outcome = found._evaluate({"BLOCK": 32}, 0)
    assert (outcome.status, outcome.reason, outcome.runs) == (status, reason, [])
    assert workers.asked == [{"BLOCK": 32, "num_warps": 4}]


@pytest.mark.parametrize(
    "runs, is_unstable", [([1.0], False), ([1.0, 1.0, 1.0], False), ([9.0, 10.0, 11.0], False), ([9.0, 10.0, 11.1], True)]
)
@pytest.mark.parametrize("is_hardware", [False, True])
def test_a_configuration_that_computes_the_same_has_its_times(tmp_path, runs, is_unstable, is_hardware):
    (tmp_path / "y").write_bytes(struct.pack("2f", 1.0, 2.0))
    answer = {"runs": runs, "outputs": {"y": "y"}}
    found, _ = search(tmp_path, {16: answer, 32: answer}, is_hardware=is_hardware)
    found._reference = found._run_reference()
    outcome = found._evaluate({"BLOCK": 32}, 0)
    assert (outcome.status, outcome.runs, outcome.measure, outcome.resources) == (OK, runs, GPU, {})
    assert (outcome.unstable, outcome.modelled) == (is_unstable, not is_hardware)


def test_results_are_compared_with_those_of_the_first_configuration_that_runs(tmp_path):
    for name, number in (("one", 2.0), ("other", 2.5)):
        (tmp_path / name).write_bytes(struct.pack("2f", 1.0, number))
    answers = {
        16: {"error": "a fault"}, 32: {"runs": [1.0], "outputs": {"y": "one"}}, 64: {"runs": [1.0], "outputs": {"y": "other"}},
    }  # fmt: skip
    found, _ = search(tmp_path, answers, [{"BLOCK": block} for block in (16, 32, 64)])
    found._reference = found._run_reference()
    assert found._reference == ("BLOCK=32", {"y": "one"})
    outcome = found._evaluate({"BLOCK": 64}, 0)
    assert outcome.status == WRONG_OUTPUT and outcome.runs == []
    assert outcome.reason.startswith("compared with BLOCK=32: y differs by 0.25 of its largest number")


def test_without_configurations_of_its_own_the_function_runs_as_the_script_launches_it(tmp_path):
    found, workers = search(tmp_path, {None: {"outputs": {}}})
    found._launch["configurations"] = None
    assert found._run_reference() == ("the script's own values", {}) and workers.asked == [None]
    found, _ = search(tmp_path, {16: {"error": "a fault"}, 32: {"error": "out of registers"}})
    with pytest.raises(NothingRanError, match="scale fails as the script launches it: out of registers"):
        found._run_reference()


def test_searches_with_the_same_inputs_are_the_same_experiment(tmp_path):
    def key(**changed):
        found, _ = search(tmp_path, {})
        found._plan = types.SimpleNamespace(kernel=types.SimpleNamespace(version=lambda: "3.5"), tolerance=None)
        found._launch |= changed
        return found._experiment()

    keys = [key(), key(kernel="other"), key(source="def"), key(key={"M": 65}), key(arguments={})]
    assert len(set(keys)) == 5 and key() == keys[0]


class Code:
    """What is known about compiled configurations; `failures` are keyed by block size."""

    def __init__(self, occupancy=0.5, **failures):
        self.failures = {canonical({"BLOCK": int(name[1:]), "num_warps": 4}): why for name, why in failures.items()}
        self._occupancy, self._compiled = occupancy, {}

    def __len__(self):
        return len(self._compiled)

    def compile(self, every):
        self._compiled = {canonical(values): StaticFeatures(63, 1, 3, 0, 64, 7, 15, self._occupancy) for values in every}

    def features(self, values):
        return self._compiled.get(canonical(values))


def test_configurations_that_cannot_run_are_left_out_and_the_rest_are_known(tmp_path):
    found, _ = search(tmp_path, {}, [*TWO, {"BLOCK": 64, "num_warps": 4}])
    found._compiled = Code(b32="too much LDS")
    known, space = found._compile_ahead()
    assert [space.space.named(row)["BLOCK"] for row in space.space] == [16, 64] and len(found._compiled) == 3
    assert (known.fixed, known.defaults, known.unlaunchable) == ({"num_warps": 4}, None, 1)
    assert (known.occupancy({"BLOCK": 16}), known.occupancy({"BLOCK": 99})) == (0.5, 0.0)
    assert (known.features({"BLOCK": 16}), known.features({"BLOCK": 99})) == ((6.0, 1.0, 2.0, 3.0, 4.0, 0.5), ())
    found._compiled = Code(occupancy=None)
    assert found._compile_ahead()[0].occupancy({"BLOCK": 16}) == 0.0
    found._bench.device.target = None
    assert found._compile_ahead()[0].occupancy is None
    found._compiled = Code(b16="too many threads", b32="too much LDS", b64="too much LDS")
    with pytest.raises(NothingRanError, match="none of 3 configurations can run: too many threads"):
        found._compile_ahead()


@pytest.mark.parametrize("sizes, compiled", [([64], 64), ([65], 0), ([1000, 1000], 0), ([8, 7], 8)])
def test_a_space_beyond_the_limit_is_not_compiled_in_advance(tmp_path, sizes, compiled):
    """With a budget of one evaluation."""
    found, _ = search(tmp_path, {}, [{f"p{n}": at % size for n, size in enumerate(sizes)} for at in range(max(sizes))], "1")
    found._compiled = Code()
    known, space = found._compile_ahead()
    assert len(found._compiled) == compiled and (known.unlaunchable is None) == (compiled == 0)
    assert len(space.space.listed) == max(sizes)


@pytest.mark.parametrize("sizes, compiled", [((1000, 1000), 1000), ((1001, 1000), 0)])
def test_a_space_with_more_than_a_million_combinations_is_not_listed(tmp_path, sizes, compiled):
    found, _ = search(tmp_path, {}, [{"a": at, "b": at % sizes[1]} for at in range(sizes[0])])
    found._compiled = Code()
    found._compile_ahead()
    assert len(found._compiled) == compiled


@pytest.mark.parametrize("key, name", [({"M": 64, "N": 8}, "M=64, N=8"), ({}, "the only size")])
def test_the_times_that_compiling_and_searching_take(tmp_path, monkeypatch, key, name):
    clock = iter([1.0, 3.5, 10.0])
    monkeypatch.setattr(size_search, "time", types.SimpleNamespace(perf_counter=clock.__next__))
    answers = {block: {"runs": [float(block)], "outputs": {}} for block in (16, 32)}
    found, _ = search(tmp_path, answers)
    notes = []
    found._launch["key"], found._note, found._compiled = key, notes.append, Code()
    found._plan = types.SimpleNamespace(kernel=types.SimpleNamespace(version=lambda: "3.5"), tolerance=None)
    size = found.run()
    assert notes[0] == f"{name}: 2 configurations compiled in 2.5 s"
    assert (size.key, size.compiled, size.compile_seconds, size.search_seconds) == (key, 2, 2.5, 6.5)
    assert sorted((one.values["BLOCK"], one.outcome.ms) for one in size.result.evaluated) == [(16, 16.0), (32, 32.0)]
    assert (size.result.device, size.result.unlaunchable, size.result.fixed) == ("a device", 0, {"num_warps": 4})
