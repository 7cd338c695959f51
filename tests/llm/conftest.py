"""A run in a separate folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_run import Run, World


@pytest.fixture(autouse=True, scope="session")
def no_proxy():
    """The servers in these tests run on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("no_proxy", "127.0.0.1")
        yield


@pytest.fixture
def run(tmp_path: Path, monkeypatch, hipcc: str) -> Run:
    # A replay reads the same texts again, so the results of Clang are kept for all tests.
    monkeypatch.setattr("rocm_perf_lab.llm.hip_answers.reader_of", lambda _settings, _source: World().read)
    return Run(tmp_path)
