"""Recordings in which anything may be wrong: they are read as they are, or refused in one line."""

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
        assert read_recording(path).times  # a changed timestamp or name in the header does no harm
    except TraceError:
        pass


def test_deep_nesting_is_refused(tmp_path):
    (tmp_path / "deep").write_text("[" * 100_000)
    with pytest.raises(TraceError):
        read_recording(tmp_path / "deep")


def test_a_single_configuration_is_a_space(tmp_path):
    path = tmp_path / "recording.json"
    path.write_text(json.dumps(T4 | {"results": T4["results"][:1]}))
    recording = read_recording(path)
    assert recording.space.values == ((1,), ("x",)) and list(recording.times.values()) == [1.5]


def read(tmp_path, document):
    (tmp_path / "recording.json").write_text(json.dumps(document))
    return read_recording(tmp_path / "recording.json")


@pytest.mark.parametrize("document", [T1, T4])
def test_values_are_sorted_and_times_belong_to_their_configurations(tmp_path, document):
    recording = read(tmp_path, document)
    assert recording.name == "recording.json" and not recording.is_modelled
    assert recording.space.names == ("a", "b") and recording.space.values == ((1, 2), ("x", "y"))
    assert recording.times == {(0, 0): 1.5, (0, 1): 1.5, (1, 0): 3.0, (1, 1): 3.0}


def test_numbers_come_before_text_and_only_recorded_configurations_are_valid(tmp_path):
    rows = {"1": {"a": "x", "b": 4, "time": 7.0}, "2": {"a": 16, "b": 2, "time": "failed"}, "3": {"a": 8, "b": 2, "time": 5.0}}
    recording = read(tmp_path, {"tune_params_keys": ["b", "a"], "cache": rows})
    assert recording.space.values == ((2, 4), (8, 16, "x"))
    assert recording.times == {(1, 2): 7.0, (0, 1): None, (0, 0): 5.0} and set(recording.space) == set(recording.times)


@pytest.mark.parametrize(
    "metadata, is_modelled",
    [({"timing": "modelled"}, True), ({"timing": "measured"}, False), ({}, False), ("modelled", False), (None, False)],
)
def test_a_recording_is_modelled_if_it_is_labelled_so(tmp_path, metadata, is_modelled):
    assert read(tmp_path, T4 | {"metadata": metadata}).is_modelled is is_modelled


def test_an_objective_other_than_time(tmp_path):
    entry = {"a": 1, "time": 3.0, "energy": 9.0}
    document = {"tune_params_keys": ["a"], "cache": {"1": entry}}
    assert [*read(tmp_path, document).times.values()] == [3.0]
    assert [*read(tmp_path, document | {"objective": "energy"}).times.values()] == [9.0]
    result = T4["results"][0] | {"objectives": ["energy", "time"]}
    result["measurements"] = [{"name": "time", "value": 3.0}, {"name": "energy", "value": 9.0}]
    assert [*read(tmp_path, {"results": [result]}).times.values()] == [9.0]


@pytest.mark.parametrize(
    "value, time",
    [
        (3, 3.0), (0.5, 0.5), (9e99, 9e99), (1e100, None), (0, None), (-1.0, None), (True, None), ("3", None), (None, None),
    ],
)  # fmt: skip
def test_which_values_are_times(tmp_path, value, time):
    rows = {"1": {"a": 1, "time": value}, "2": {"a": 2, "time": 1.0}}
    assert read(tmp_path, {"tune_params_keys": ["a"], "cache": rows}).times == {(0,): time, (1,): 1.0}


@pytest.mark.parametrize("invalidity", ["compile", "correctness", None])
def test_a_result_that_is_not_correct_has_no_time(tmp_path, invalidity):
    wrong = T4["results"][0] | {"invalidity": invalidity}
    assert read(tmp_path, {"results": [wrong, *T4["results"][1:]]}).times[0, 0] is None
    with pytest.raises(TraceError, match="records no time"):
        read(tmp_path, {"results": [wrong]})


@pytest.mark.parametrize("other", [{"a": 1}, {"a": 1, "b": "x", "c": 1}, {"a": 1, "c": 1}, {}, ["a", "b"], {"a": 1, "b": None}])
def test_every_configuration_has_the_same_parameters(tmp_path, other):
    with pytest.raises(TraceError, match="is neither a Kernel Tuner cache nor a T4 file"):
        read(tmp_path, {"results": [*T4["results"], T4["results"][0] | {"configuration": other}]})


def test_parameters_are_in_the_order_of_the_first_configuration(tmp_path):
    other = T4["results"][0] | {"configuration": {"b": "z", "a": 1}}
    assert read(tmp_path, {"results": [*T4["results"], other]}).space.names == ("a", "b")


def test_a_compressed_file_is_told_by_its_contents(tmp_path):
    (tmp_path / "recording").write_bytes(gzip.compress(json.dumps(T1).encode()))
    assert read_recording(tmp_path / "recording").times[1, 1] == 3.0
