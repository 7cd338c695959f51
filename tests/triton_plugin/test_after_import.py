"""Actions that wait for the import of a module."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from rocm_perf_triton.after_import import after_import


@pytest.fixture
def module(tmp_path: Path, monkeypatch):
    """The name of a module that can be imported but is not yet."""
    (tmp_path / "imported_late.py").write_text("VALUE = __loader__ is not None and 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "imported_late", raising=False)
    finders = list(sys.meta_path)
    yield "imported_late"
    assert sys.meta_path == finders


def test_the_action_runs_once_when_the_module_is_complete(module: str):
    seen = []
    after_import(module, lambda it: seen.append(it.VALUE))
    importlib.import_module("json")
    assert not seen
    imported = importlib.import_module(module)
    assert seen == [1]
    importlib.reload(imported)
    assert seen == [1]


def test_the_action_runs_at_once_on_an_imported_module(module: str):
    imported = importlib.import_module(module)
    seen = []
    after_import(module, seen.append)
    assert seen == [imported]


def test_the_action_runs_even_if_others_load_the_module_themselves(module: str):
    """As pytest does with modules that it collects as tests."""

    class First:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return PathFinder.find_spec(name, path) if name == module else None

    seen = []
    after_import(module, lambda it: seen.append(it.VALUE))
    sys.meta_path.insert(0, First)
    try:
        __import__(module)
    finally:
        sys.meta_path.remove(First)
    assert seen == [1]
