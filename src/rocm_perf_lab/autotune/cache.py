"""Keeps results in SQLite, so that a repeated search, or one resumed after an interruption, runs no configuration twice."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from rocm_perf_lab.autotune.evaluation_outcome import EvaluationOutcome
from rocm_perf_lab.errors import MissingInputError, OutputError
from rocm_perf_lab.json_model import TOLERANT, JsonModel, Text

_TABLE = """CREATE TABLE IF NOT EXISTS outcome (
    experiment TEXT NOT NULL, configuration TEXT NOT NULL, outcome TEXT NOT NULL, PRIMARY KEY (experiment, configuration))"""


class CachedOutcome(JsonModel):
    """An outcome as the database stores it; see EvaluationOutcome."""

    model_config = TOLERANT

    status: str
    reason: Text | None = None
    runs: list[float] = []
    measure: str | None = None
    unstable: bool = False
    modelled: bool = False
    resources: dict[str, int] = {}


class Cache:
    """The results of one experiment, identified by its `experiment_key`. Each result is committed immediately.

    Raises OutputError if the database cannot be used.
    """

    def __init__(self, path: Path, experiment: str):
        self._path, self._experiment, self._lock = path, experiment, threading.Lock()
        with self._errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, check_same_thread=False, timeout=60, isolation_level=None)
            tables = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and "outcome" not in tables:
                raise OutputError(f"{path} is a database of another kind", "choose another --cache")
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute(_TABLE)

    def get(self, values: dict[str, object]) -> EvaluationOutcome | None:
        with self._lock, self._errors():
            query = "SELECT outcome FROM outcome WHERE experiment = ? AND configuration = ?"
            row = self._database.execute(query, (self._experiment, canonical(values))).fetchone()
        try:
            return EvaluationOutcome(**dict(CachedOutcome.model_validate(json.loads(row[0])))) if row else None
        except ValueError as error:
            raise OutputError(f"the results cache {self._path} is damaged ({error})", "choose another --cache") from error

    def put(self, values: dict[str, object], outcome: EvaluationOutcome) -> None:
        row = (self._experiment, canonical(values), json.dumps(CachedOutcome(**dataclasses.asdict(outcome)).as_json()))
        with self._lock, self._errors():
            self._database.execute("INSERT OR REPLACE INTO outcome VALUES (?, ?, ?)", row)

    def close(self) -> None:
        self._database.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise OutputError(f"the results cache {self._path} cannot be used ({error})", "choose another --cache") from error


def canonical(values: dict[str, object]) -> str:
    return json.dumps(values, sort_keys=True)


def experiment_key(commands: dict[str, object], device: str, files: Iterable[Path]) -> str:
    """A key that changes with the commands, the device, and the contents of `files`: program, sources, scripts.

    Raises MissingInputError for a file that cannot be read.
    """
    digest = hashlib.sha256(json.dumps([commands, device], sort_keys=True).encode())
    for path in sorted(set(files)):
        try:
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest() if hasattr(hashlib, "file_digest")
                              else hashlib.sha256(stream.read()).digest())  # fmt: skip
        except OSError as error:
            hint = "make it readable: results are keyed by the content of the files that the templates name"
            raise MissingInputError(f"{path} cannot be read ({error.strerror})", hint) from error
    return digest.hexdigest()
