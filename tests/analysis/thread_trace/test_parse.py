"""Each file of a thread trace with a few hand-written rows, and which contents are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzz.thread_traces import COLUMNS
from rocm_perf_lab.analysis.thread_trace.parse import (
    UnreadableFileError,
    _one_line,
    _split_around_table,
    clock_mhz,
    code_json,
    gfxip_and_files,
    integers,
    load,
    occupancy_json,
    stats_csv,
    wave_files,
    wave_json,
)

WAVE = "se1_sm2_sl3_wv4.json"
MAX_NUMBER = 1 << 62


@pytest.fixture
def written(tmp_path):
    """written(document, name) is a file with the document as JSON, or with its text or bytes unchanged."""

    def write(document: object, name: str = "f.json") -> Path:
        path = tmp_path / name
        if isinstance(document, bytes):
            path.write_bytes(document)
        else:
            path.write_text(document if isinstance(document, str) else json.dumps(document, separators=(",", ":")))
        return path

    return write


def test_a_file_without_a_json_object_is_named(written, tmp_path):
    for text, said in (
        ("", "f.json is empty"),
        (" \n", "f.json is empty"),
        ("{", "f.json is truncated or not JSON (Expecting property name"),
        ("[1]", "f.json does not contain a JSON object"),
    ):
        with pytest.raises(UnreadableFileError) as error:
            load(written(text))
        assert str(error.value).startswith(said)
    with pytest.raises(UnreadableFileError, match="none.json: No such file"):
        load(tmp_path / "none.json")
    with pytest.raises(UnreadableFileError, match="is not a file"):
        load(tmp_path)
    assert load(written({"a": 1})) == {"a": 1}


@pytest.mark.parametrize("rows", [[[1, 2]], [[0, 1 << 62], [3, 4]], []])
def test_a_table_of_whole_numbers(rows):
    found = integers(Path("f"), "it", rows, 2)
    assert found.tolist() == rows and found.shape == (len(rows), 2) and found.dtype == "int64"


@pytest.mark.parametrize(
    "rows, said",
    [
        (None, "f: it is not a list"),
        ({}, "f: it is not a list"),
        ([[1, 2], [3]], "f: it is not a table of numbers"),
        ([1, 2], "f: it is not 2 whole numbers per row"),
        ([[1, 2, 3]], "f: it is not 2 whole numbers per row"),
        ([[1, 2.5]], "f: it is not 2 whole numbers per row"),
        ([[[1, 2], [3, 4]]], "f: it is not 2 whole numbers per row"),
        ([[1, 1 << 63]], "f: it is not 2 whole numbers per row"),
        ([[1, -1]], "f: it has a number that is negative or too large"),
        ([[1, MAX_NUMBER + 1]], "f: it has a number that is negative or too large"),
    ],
)
def test_other_tables_are_refused(rows, said):
    with pytest.raises(UnreadableFileError) as error:
        integers(Path("f"), "it", rows, 2)
    assert str(error.value) == said


# ---- code ----

ROWS = [
    ["; first", 0, 5, "first()", 1, 0, 0, 0, 0, 0],
    ["s_nop 0", 0, 7, "a.hip:2", 1, 8, 2, 9, 3, 1],
    ["s_mov", 0, 6, "/p/./a.hip:1", 1, 12, 4, 16, 0, 0],
    ["; second", 0, 8, "second()", 1, 64, 0, 0, 0, 0],
    ["s_endpgm", 0, 9, "", 1, 64, 1, 4, 0, 0],
]


def columns(code) -> dict[str, list]:
    names = ("line", "text", "source", "code_object", "vaddr", "hits", "latency", "stall", "idle", "kernel")
    return {name: [*getattr(code, name)] for name in names}


EXPECTED = {
    "line": [6, 7, 9], "text": ["s_mov", "s_nop 0", "s_endpgm"], "source": ["/p/a.hip:1", "a.hip:2", ""],
    "code_object": [1, 1, 1], "vaddr": [12, 8, 64], "hits": [4, 2, 1], "latency": [16, 9, 4], "stall": [0, 3, 0],
    "idle": [0, 1, 0], "kernel": [0, 0, 1],
}  # fmt: skip


def test_code_is_in_the_order_of_its_lines_with_the_kernel_of_each(written):
    code = code_json(written({"code": ROWS}))
    assert columns(code) == EXPECTED and code.kernels == [("first", "first()"), ("second", "second()")]
    assert [*code_json(written({"code": ROWS[1:]})).kernel] == [-1, -1, 0]
    for nothing in ({}, {"code": None}, {"code": []}):
        assert len(code_json(written(nothing))) == 0


@pytest.mark.parametrize("place, value", [(0, 1), (0, "a\0"), (3, None), (3, "a\x1b"), (2, 1.0), (2, True), (9, -1), (4, "1")])
def test_a_row_of_code_with_another_kind_of_value_is_refused(written, place, value):
    row = [*ROWS[1]]
    row[place] = value
    with pytest.raises(UnreadableFileError, match="row 1 is not"):
        code_json(written({"code": [ROWS[0], row]}))


def test_code_that_is_no_table_is_refused(written):
    for code, said in (({}, "`code` is not a list"), ([ROWS[0][:9]], "row 0 is not"), (["row"], "row 0 is not")):
        with pytest.raises(UnreadableFileError, match=said):
            code_json(written({"code": code}))
    with pytest.raises(UnreadableFileError, match="two instructions on one line number"):
        code_json(written({"code": [ROWS[1], ROWS[1]]}))
    assert len(code_json(written({"code": [[*ROWS[1], "more"]]}))) == 1


def csv_of(*rows: str) -> str:
    return "\n".join([",".join(COLUMNS), *rows])


CSV = ['1,0,"; first",0,0,0,0,first()', "1,12,s_mov,4,16,0,0,/p/./a.hip:1", "1,8,s_nop 0,2,9,3,1,a.hip:2",
       '1,64,"; second",0,0,0,0,second()', "1,64,s_endpgm,1,4,0,0,"]  # fmt: skip


def test_the_table_says_the_same_with_lines_in_its_own_order(written):
    code = stats_csv(written(csv_of(*CSV), "stats.csv"))
    assert columns(code) == EXPECTED | {"line": [1, 2, 4]} and code.kernels == [("first", "first()"), ("second", "second()")]
    assert len(stats_csv(written("", "stats.csv"))) == len(stats_csv(written(csv_of(), "stats.csv"))) == 0


@pytest.mark.parametrize(
    "row, said",
    [
        ("1,8,s_mov,4,16,0,0", "row 3 is truncated or has a number out of range"),
        ("1,8,s_mov,4,16,0,0,a,b", "row 3 is truncated or has a number out of range"),
        ("1,8,s_mov,4,16,-1,0,a", "row 3 is truncated or has a number out of range"),
        (f"1,8,s_mov,4,{MAX_NUMBER + 1},0,0,a", "row 3 is truncated or has a number out of range"),
        ("1,8,s_mov,4,16", "row 3 is truncated or not numeric"),
        ("1,8,s_mov,4,x,0,0,a", "row 3 is truncated or not numeric"),
        ("1,8,s_\x1bmov,4,16,0,0,a", "row 3 has control characters"),
        ("1,8,s_mov,4,16,0,0,a\x1b", "row 3 has control characters"),
    ],
)
def test_a_damaged_row_of_the_table_is_named_by_its_place_in_the_file(written, row, said):
    with pytest.raises(UnreadableFileError) as error:
        stats_csv(written(csv_of(CSV[0], row), "stats.csv"))
    assert str(error.value) == f"stats.csv: {said}"


def test_large_numbers_and_long_names_of_the_table_are_read(written):
    assert stats_csv(written(csv_of(f"1,8,s_mov,{MAX_NUMBER},0,0,0,"), "stats.csv")).hits.tolist() == [MAX_NUMBER]
    name = "sum<" + 50_000 * "int,"
    assert stats_csv(written(csv_of(f'1,0,"; {name}",0,0,0,0,'), "stats.csv")).kernels == [(name, "")]


@pytest.mark.parametrize("content", [b"\xff", b'"', b"A,b\n", b"a,b\n"])
def test_other_text_than_such_a_table_is_refused(written, content):
    with pytest.raises(UnreadableFileError, match="is not a CSV file|does not begin with the columns CodeObj, Vaddr"):
        stats_csv(written(content, "stats.csv"))


# ---- waves ----


def wave(instructions=((10, 1, 0, 4, 7), (14, 9, 90, 90, 8)), **changed) -> dict:
    """changed: fields of the document, or of its `wave`."""
    of_wave = {"begin": 10, "end": 104, "cu": 5, "instructions": [*instructions], "timeline": [[1, 2], [3, 4]]}
    document = {"num_insts": 4, "num_stitched": len(instructions), "wave": of_wave}
    for name, value in changed.items():
        (of_wave if name in of_wave else document)[name] = value
    return document


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_a_wave(written, separators):
    found = wave_json(written(json.dumps(wave(), separators=separators), WAVE))
    assert (found.file, found.engine, found.cu, found.simd, found.slot) == (WAVE, 1, 5, 2, 3)
    assert (found.begin, found.end, found.truncated) == (10, 104, 2)
    assert found.records.tolist() == [[10, 1, 0, 4, 7], [14, 9, 90, 90, 8]]


def test_a_wave_may_lose_nothing_or_have_no_instructions(written):
    assert wave_json(written(wave(num_insts=2), WAVE)).truncated == wave_json(written(wave(num_insts=1), WAVE)).truncated == 0
    for nothing in ([], None):
        found = wave_json(written(wave([]) | {"wave": {"begin": 3, "end": 3, "cu": 0, "instructions": nothing}}, WAVE))
        assert found.records.shape == (0, 5) and (found.begin, found.end, found.truncated) == (3, 3, 4)


FIVE = "`instructions` is not 5 whole numbers per row"


@pytest.mark.parametrize(
    "document, said",
    [
        ({"num_insts": 1}, " has no `wave`"),
        (wave(begin=105), ": the wave ends before it begins"),
        (wave(num_stitched=3), " has 2 instructions but claims 3"),
        (wave(num_stitched=1), " has 2 instructions but claims 1"),
        (wave(cu=-1), ": `cu` is not a whole number"),
        (wave(end=MAX_NUMBER + 1), ": `end` is not a whole number"),
        (wave(num_insts=None), ": `num_insts` is not a whole number"),
        (wave(num_insts=True), ": `num_insts` is not a whole number"),
        (wave([(10, 1, 5, 4, 7)]), ": an instruction stalls for longer than it takes"),
        (wave([(10, 1, 0, 4)]), f": {FIVE}"),
        (wave([(10, 1, 0, 4, 7), (11, 1, 0, 4)]), f": {FIVE} ("),
        (wave([(10, 1, 0, 4, "x")]), f": {FIVE} ("),
        (wave([(10, 1, 0, 4, 1.5)]), f": {FIVE}"),
        (wave([(10, 1, 0, 4, -1)]), ": `instructions` has a number that is negative or too large"),
    ],
)
def test_a_damaged_wave_is_refused(written, document, said):
    with pytest.raises(UnreadableFileError) as error:
        wave_json(written(document, WAVE))
    assert str(error.value).startswith(WAVE + said)


def test_a_file_with_another_name_belongs_to_no_wave(written, tmp_path):
    with pytest.raises(UnreadableFileError, match="wave.json is not a wave's file"):
        wave_json(written(wave(), "wave.json"))
    names = ["se0_sm1_sl0_wv2.json", "se0_sm1_sl0_wv10.json", "se0_sm10_sl0_wv0.json", "se10_sm0_sl0_wv0.json"]
    for name in reversed([*names, "se0_sm1_sl0_wv2.json.bak", "code.json"]):
        written({}, name)
    assert [path.name for path in wave_files(tmp_path) if path.name != "wave.json"] == names


@pytest.mark.parametrize(
    "text, parts",
    [
        (b'{"key":[[1,2],[3]],"more":1}', (b'{"key":[]', b"1,2],[3", b',"more":1}')),
        (b'"key":[[]]', (b'"key":[]', b"", b"")),
        (b'"key":[]', (b'"key":[]', None, b"")),
        (b'"key": [[1]]', (b'"key": [[1]]', None, b"")),
        (b'"key":[[1]', (b'"key":[[1]', None, b"")),
    ],
)
def test_a_table_is_cut_out_of_its_text(text, parts):
    assert _split_around_table(text, b'"key":') == parts


# ---- the rest ----


def test_starts_and_ends_of_waves_by_engine(written):
    rows = [[1, 2, 3, 4, 1, 6]]
    found = occupancy_json(written({"0": rows, "12": [], "dispatches": {}, "²": rows}))
    assert {name: table.tolist() for name, table in found.engines.items()} == {0: rows, 12: []}
    with pytest.raises(UnreadableFileError, match="engine 3 is not 6 whole numbers per row"):
        occupancy_json(written({"3": [[1]]}))


@pytest.mark.parametrize("gfxip, known", [(9, 9), (True, None), ("9", None), (None, None)])
def test_the_generation_and_the_names_of_waves(written, gfxip, known):
    names = {
        "1": {"0": {"3": {"0": [WAVE, 1, 2], "1": ["code.json", 1, 2]}}},
        "0": {"0": ["se0_sm0_sl0_wv0.json"]},
        "2": [[], 7],
    }
    found = gfxip_and_files(written({"gfxip": gfxip, "wave_filenames": names}))
    assert found == (known, ["se0_sm0_sl0_wv0.json", WAVE])


@pytest.mark.parametrize(
    "readings, mhz",
    [
        ({"SE0": [[0, 0], [7, 3], [21000, 1000]]}, 52.5),
        ({"SE0": [[0, 0], [3, 2]]}, 3.75),
        ({"SE0": [[5, 100], [5, 200]], "SE1": [[100, 10], [300, 110]]}, 5.0),
        ({"SE0": [[5, 100], [9, 100]], "SE1": [[100, 10], [300, 110]]}, 5.0),
        ({"SE0": [[9, 100], [5, 200]], "SE1": [[100, 10], [300, 110]]}, 5.0),
        ({"SE0": [[5, 200], [9, 100]], "SE1": [[100, 10], [300, 110]]}, 5.0),
        ({"SE0": [[5, 100]], "note": "?", "SE12": [[0, 0], [1, 1]]}, 2.5),
    ],
)
def test_the_clock_comes_from_the_first_engine_with_two_ascending_readings(written, readings, mhz):
    assert clock_mhz(written({"metadata": {"frequency": 2_500_000}} | readings)) == mhz


@pytest.mark.parametrize(
    "document",
    [
        {"SE0": [[0, 0], [5, 5]]},
        {"metadata": 1, "SE0": [[0, 0], [5, 5]]},
        {"metadata": {"frequency": 1.5}, "SE0": [[0, 0], [5, 5]]},
        {"metadata": {"frequency": 1}, "SE0": [[9, 9], [5, 5]], "xSE1": [[0, 0], [5, 5]]},
    ],
)
def test_a_clock_that_cannot_be_known(written, document):
    with pytest.raises(UnreadableFileError, match="f.json does not have two readings of the clocks"):
        clock_mhz(written(document))


def test_an_error_is_one_printable_line():
    assert _one_line(ValueError("a\n b\x1b[31m")) == "a b?[31m"
    assert _one_line(ValueError("x" * 121)) == "x" * 120
