"""Recordings of which anything may be wrong: read as they are, or refused in one line."""

from __future__ import annotations

import copy
import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocm_perf_lab.autotune.recorded import read_recording
from rocm_perf_lab.errors import RocmPerfError, TraceError

T1 = {
    "tune_params_keys": ["a", "b"],
    "objective": "time",
    "cache": {f"{a},{b}": {"a": a, "b": b, "time": a * 1.5} for a in (1, 2) for b in "xy"},
}
T4 = {
    "results": [
        {
            "configuration": {"a": a, "b": b},
            "invalidity": "correct",
            "measurements": [{"name": "time", "value": a * 1.5}],
            "objectives": ["time"],
        }
        for a in (1, 2)
        for b in "xy"
    ]
}
JUNK = (None, True, -1, 0.0, 1e308, float("nan"), float("inf"), 10**400, "", "x", "\ud800", [], {}, [[]], [1], {"a": {}})


def places(content, path=()):
    yield path
    for key in content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ():
        yield from places(content[key], (*path, key))


def changed(content, path, value):
    if not path:
        return value
    content = copy.deepcopy(content)
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return content


def test_any_value_in_any_place_is_read_or_refused(tmp_path):
    path, refused = tmp_path / "recording.json", 0
    for content in (T1, T4):
        for place in places(content):
            for value in JUNK:
                path.write_text(json.dumps(changed(content, place, value)))
                try:
                    recording = read_recording(path)
                except RocmPerfError:
                    refused += 1
                    continue
                times = [time for time in recording.times.values() if time is not None]
                assert times and all(0 < time < 1e100 for time in times)
                json.dumps(recording.space.values, allow_nan=False)
    assert refused > 100


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_files_are_refused_or_read(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "recording.json.gz"
    whole = gzip.compress(json.dumps(T1).encode(), mtime=0)
    cut = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:cut])
    with pytest.raises(TraceError):
        read_recording(path)
    flipped = bytearray(whole)
    flipped[cut] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(flipped)
    try:
        assert read_recording(path).times  # a changed time stamp or name in the header harms nothing
    except TraceError:
        pass


def test_deep_nesting_is_refused(tmp_path):
    (tmp_path / "deep").write_text("[" * 100_000)
    with pytest.raises(TraceError):
        read_recording(tmp_path / "deep")


def test_one_configuration_is_a_space_too(tmp_path):
    path = tmp_path / "recording.json"
    path.write_text(json.dumps(T4 | {"results": T4["results"][:1]}))
    recording = read_recording(path)
    assert recording.space.values == ((1,), ("x",)) and list(recording.times.values()) == [1.5]
