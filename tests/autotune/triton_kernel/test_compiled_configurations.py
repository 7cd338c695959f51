"""Compiling configurations in advance, on workers with invented answers."""

from __future__ import annotations

import threading

import pytest

from rocm_perf_lab.autotune.cache import canonical
from rocm_perf_lab.autotune.triton_kernel import compiled_configurations as module
from rocm_perf_lab.autotune.triton_kernel.compiled_configurations import CompiledConfigurations
from rocm_perf_lab.autotune.triton_kernel.static_features import StaticFeatures
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptTimeoutError

ANSWERS = {
    16: {"lds": 512},
    32: {"error": "out of registers"},
    64: ScriptTimeoutError("no answer in 20 s"),
    128: ScriptExitedError("it ended with status 3"),
    256: {"lds": 65537},
}


class Workers:
    """Two workers; `asked` holds what each was asked for."""

    count = 2

    def __init__(self, answers):
        self._answers, self.asked = answers, []

    def ask(self, worker, *, do, values):
        assert do == "compile" and worker in (0, 1)
        self.asked.append(values["BLOCK"])
        answer = self._answers[values["BLOCK"]]
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def made(monkeypatch):
    """made(answers) -> (the configurations, their workers, whether all were told to stop)."""
    monkeypatch.setattr(
        module, "static_features", lambda answer, target: StaticFeatures(32, 0, answer["lds"], 65536, 64, 0, 1, 0.5)
    )

    def made(answers):
        workers, stopped = Workers(answers), threading.Event()
        return CompiledConfigurations(workers, stopped, "gfx942"), workers, stopped

    return made


def test_configurations_that_do_not_compile_or_fit_have_a_reason(made):
    compiled, workers, stopped = made(ANSWERS)
    compiled.compile({"BLOCK": block} for block in ANSWERS)
    assert sorted(workers.asked) == sorted(ANSWERS) and not stopped.is_set()
    assert compiled.failures == {
        canonical({"BLOCK": 32}): "out of registers",
        canonical({"BLOCK": 64}): "no answer in 20 s",
        canonical({"BLOCK": 128}): "it ended with status 3",
        canonical({"BLOCK": 256}): "65537 bytes of LDS, but at most 65536 are possible",
    }
    assert len(compiled) == 2 and compiled.features({"BLOCK": 16}).lds_bytes == 512
    assert compiled.features({"BLOCK": 256}).lds_bytes == 65537
    assert compiled.features({"BLOCK": 32}) is None is compiled.features({"BLOCK": 7})


def test_nothing_to_compile(made):
    compiled, workers, _ = made(ANSWERS)
    compiled.compile([])
    assert len(compiled) == 0 and workers.asked == [] and compiled.failures == {}


def test_an_error_stops_all_workers(made):
    compiled, _, stopped = made({16: ZeroDivisionError()})
    with pytest.raises(ZeroDivisionError):
        compiled.compile([{"BLOCK": 16}])
    assert stopped.is_set()
