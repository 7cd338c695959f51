"""Thread traces with missing or contradictory parts: what is read, and the reason why the rest is not."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from fuzz import thread_traces
from rocm_perf_lab.analysis.thread_trace import parse
from rocm_perf_lab.analysis.thread_trace.find_traces import TraceOutput, find
from rocm_perf_lab.analysis.thread_trace.read import NOTHING_RAN, read, read_all

UI = "ui_output_agent_1_dispatch_2"
EVERY = ("code", "waves", "events", "gfxip", "clock_mhz")


@pytest.fixture
def folder(tmp_path) -> Path:
    return thread_traces.write(tmp_path / "att", waves=2, turns=1)


def change(path: Path, key: str, value: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))


def missing(folder: Path) -> dict[str, str]:
    """The reasons for the missing fields of the only trace; its other fields have values."""
    (trace,) = read_all(folder)
    assert {name for name in EVERY if getattr(trace, name) is None} == set(trace.missing)
    return trace.missing


def test_a_whole_trace_is_found_from_any_of_its_folders(folder):
    for place in (folder, folder / UI, folder / f"stats_{UI}.csv"):
        trace = read(place)
        assert trace.missing == {} and trace.folder == folder / UI and trace.dispatch == 2
        assert len(trace.code) == 9 and len(trace.waves) == 2 and trace.gfxip == 9 and trace.clock_mhz == 2100.0
    assert missing(folder) == {}


def test_where_there_is_no_trace(tmp_path):
    trace = read(tmp_path)
    assert read_all(tmp_path) == [] and trace.missing == dict.fromkeys(EVERY, f"{tmp_path} has no thread trace")
    assert all(getattr(trace, name) is None for name in (*EVERY, "dispatch", "kernel"))


def test_the_code_is_read_from_the_table_alone(folder):
    shutil.rmtree(folder / UI)
    found = missing(folder)
    assert found == dict.fromkeys(EVERY[1:], f"there is no folder {UI}")
    assert read(folder).folder == folder / f"stats_{UI}.csv" and read(folder).code.kernels[0][1] == thread_traces.KERNEL


def test_without_the_listing_that_waves_refer_to_they_are_left_out(folder):
    (folder / UI / "code.json").unlink()
    assert missing(folder) == {"waves": "code.json: No such file or directory: the waves' records refer to it"}
    (folder / f"stats_{UI}.csv").write_text("no\n")
    found = missing(folder)
    assert set(found) == {"code"} and found["code"].startswith(
        f"code.json: No such file or directory; stats_{UI}.csv does not begin with the columns CodeObj"
    )
    (folder / f"stats_{UI}.csv").unlink()
    assert missing(folder) == {"code": "code.json: No such file or directory"}


def test_without_the_table_the_listing_is_enough(folder):
    (folder / f"stats_{UI}.csv").unlink()
    assert missing(folder) == {}


def test_lines_come_from_the_listing_and_not_from_the_table(folder):
    """The table has the same instructions in another order."""
    before = read(folder).code.text
    path = folder / f"stats_{UI}.csv"
    with path.open(newline="") as file:
        head, kernel, *rows = csv.reader(file)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, kernel, *reversed(rows)])
    assert missing(folder) == {} and read(folder).code.text == before
    (folder / UI / "code.json").unlink()
    assert read(folder).code.text == before[::-1]


def test_the_first_of_several_traces_is_read(tmp_path):
    for number in (5, 4):
        (thread_traces.write(tmp_path / f"{number}") / UI).rename(tmp_path / f"ui_output_agent_1_dispatch_{number}")
        shutil.rmtree(tmp_path / f"{number}")
    assert read(tmp_path).dispatch == 4 and [trace.dispatch for trace in read_all(tmp_path)] == [4, 5]


@pytest.mark.parametrize(
    "column, value, said",
    [
        ("Stall", "99", "and code.json disagree: stall of `s_waitcnt lgkmcnt(0)` at 0x1c08 is 99 in one and 180 in the other"),
        ("Source", "other.hip:1", "and code.json disagree: `s_waitcnt lgkmcnt(0)` at 0x1c08 is in one only"),
    ],
)
def test_two_listings_that_differ_are_both_left_out(folder, column, value, said):
    path = folder / f"stats_{UI}.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[2][column] = value
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, thread_traces.COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    assert missing(folder) == {"code": f"stats_{UI}.csv {said}"}


@pytest.mark.parametrize(
    "lost, said", [((1,), "se0_sm1_sl0_wv0.json is missing"), ((0, 1), "se0_sm0_sl0_wv0.json is missing, and 1 more")]
)
def test_a_wave_whose_file_is_missing(folder, lost, said):
    for number in lost:
        (folder / UI / f"se0_sm{number}_sl0_wv0.json").unlink()
    assert missing(folder) == {"waves": said}


@pytest.mark.parametrize(
    "error, said", [(OSError(13, "Permission denied"), f"{UI}: Permission denied"), (OSError("odd"), f"{UI}: odd")]
)
def test_a_folder_that_cannot_be_listed(folder, monkeypatch, error, said):
    def refused(_folder):
        raise error

    monkeypatch.setattr(parse, "wave_files", refused)
    assert missing(folder) == {"waves": said}


def test_each_other_file_may_be_missing_by_itself(folder):
    (folder / UI / "se0_sm1_sl0_wv0.json").write_text("{")
    (folder / UI / "occupancy.json").write_text("")
    (folder / UI / "realtime.json").write_text("[]")
    change(folder / UI / "filenames.json", "gfxip", "nine")
    found = missing(folder)
    assert found.pop("waves").startswith("se0_sm1_sl0_wv0.json is truncated or not JSON")
    assert found == {
        "events": "occupancy.json is empty",
        "clock_mhz": "realtime.json does not contain a JSON object",
        "gfxip": "filenames.json does not name it",
    }
    (folder / UI / "filenames.json").unlink()
    assert missing(folder)["gfxip"] == "filenames.json: No such file or directory"


def test_waves_that_contradict_the_listing_are_left_out_with_it(folder):
    path = folder / UI / "se0_sm1_sl0_wv0.json"
    document = json.loads(path.read_text())
    document["wave"]["instructions"][0][3] += 1
    path.write_text(json.dumps(document))
    found = missing(folder)
    assert found["waves"] == found["code"] and set(found) == {"waves", "code"}
    assert found["code"] == (
        "code.json and the waves' records disagree: latency of `s_load_dwordx2 s[0:1], s[4:5], 0x0` at 0x1c00 is 8 in one and "
        "9 in the other"
    )


def test_a_listing_of_what_ran_needs_waves(folder):
    for number in (0, 1):
        (folder / UI / f"se0_sm{number}_sl0_wv0.json").unlink()
    change(folder / UI / "filenames.json", "wave_filenames", {})
    assert missing(folder)["waves"].startswith("code.json and the waves' records disagree: hits of `s_load_dwordx2")


def test_a_kernel_that_ran_no_instruction(tmp_path):
    folder = thread_traces.write(tmp_path / "att", waves=0)
    assert missing(folder) == {"waves": NOTHING_RAN, "code": NOTHING_RAN}


# ---- folders ----


def test_traces_are_in_the_order_of_their_dispatches(tmp_path):
    for name in (
        "b/ui_output_agent_1_dispatch_10",
        "ui_output_agent_1_dispatch_9",
        "a/ui_output_x",
        "ui_output_agent_2_dispatch_9",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name in ("stats_ui_output_agent_1_dispatch_9.csv", "b/stats_ui_output_agent_1_dispatch_3.csv", "stats_.txt"):
        (tmp_path / name).write_text("")
    found = [(output.dispatch, output.name, output.ui is not None, output.csv is not None) for output in find(tmp_path)]
    assert found == [
        (3, "ui_output_agent_1_dispatch_3", False, True),
        (9, "ui_output_agent_1_dispatch_9", True, True),
        (9, "ui_output_agent_2_dispatch_9", True, False),
        (10, "ui_output_agent_1_dispatch_10", True, False),
        (None, "ui_output_x", True, False),
    ]


def test_a_folder_with_another_name_is_one_trace_if_it_has_a_listing(tmp_path):
    (tmp_path / "mine").mkdir()
    assert find(tmp_path / "mine") == []
    (tmp_path / "mine" / "code.json").write_text("{}")
    (output,) = find(tmp_path / "mine")
    assert output == TraceOutput(tmp_path / "mine", None) and (output.name, output.dispatch) == ("mine", None)


@pytest.mark.parametrize(
    "name, dispatch",
    [
        ("ui_output_agent_1_dispatch_12", 12),
        ("ui_output_dispatch_12_x", 12),
        ("ui_output_dispatch_12x", None),
        (f"ui_output_dispatch_{'9' * 18}", 10**18 - 1),
        (f"ui_output_dispatch_{'9' * 19}", None),
    ],
)
def test_the_dispatch_number_in_a_name(name, dispatch):
    assert TraceOutput(Path(name), None).dispatch == dispatch == TraceOutput(None, Path(f"stats_{name}.csv")).dispatch


def test_an_output_folder_holds_something():
    with pytest.raises(ValueError, match="neither a folder nor a CSV"):
        _ = TraceOutput(None, None).path
