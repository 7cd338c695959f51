"""Measured ceilings: a recorded roofline.csv, a round trip through a written file, and files without ceilings."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.analysis.ceilings import LEVELS, Ceiling, Ceilings, _pipe, ceilings_for, column, read_ceilings, to_csv
from rocm_perf_lab.errors import MissingInputError, TraceError, UsageError

PIPES = [("f16", "valu"), ("f32", "valu"), ("f64", "valu"), ("f8", "mfma"), ("bf16", "mfma"), ("xf32", "mfma"), ("i8", "mfma")]
rates = st.floats(0.001, 1e9).map(lambda number: float(f"{number:.8g}"))
ceilings = st.builds(Ceiling, rates, rates, rates)


def test_a_recorded_file_yields_the_values_of_its_columns(shared_data):
    path = shared_data / "counters" / "vcopy_MI200" / "roofline.csv"
    rows = list(csv.reader(path.read_text().splitlines()))
    for device in (0, 1):
        found = read_ceilings(path, device)
        cells = dict(zip(rows[0], map(float, rows[device + 1]), strict=True))
        assert {level: ceiling.value for level, ceiling in found.bandwidth.items()} == {
            level: cells[f"{level}Bw"] for level in ("HBM", "L2", "L1", "LDS")
        }
        assert len(found.arithmetic) == 7 and found.arithmetic["bf16", "mfma"].value == cells["MFMABF16Flops"]
        integer = found.arithmetic["i8", "mfma"]
        assert (integer.value, integer.low, integer.high) == (
            cells["MFMAI8Ops"],
            cells["MFMAFI8OpsLow"],
            cells["MFMAI8OpsHigh"],
        )


def test_a_0_means_that_the_rate_was_not_measured(tmp_path):
    """As rocprof-compute writes it for an MI300X, which has no FP4 matrix units to measure."""
    names = "device,HBMBw,HBMBwLow,hbmBwHigh,MFMAF4Flops,MFMAF4FlopsLow,MFMAF4FlopsHigh,MALLBw"
    (tmp_path / "r.csv").write_text(f"{names}\n0,4244.35,4242.49,4246.21,0,0,0,0\n")
    found = read_ceilings(tmp_path / "r.csv")
    assert found.bandwidth == {"HBM": Ceiling(4244.35, 4242.49, 4246.21)} and not found.arithmetic
    (tmp_path / "r.csv").write_text("device,HBMBw,MFMAF4Flops\n0,0,0\n")
    with pytest.raises(TraceError, match="contains no ceilings"):
        read_ceilings(tmp_path / "r.csv")


@given(st.dictionaries(st.sampled_from(LEVELS), ceilings), st.dictionaries(st.sampled_from(PIPES), ceilings))
def test_written_ceilings_are_read_back(tmp_path_factory, bandwidth, arithmetic):
    path = tmp_path_factory.mktemp("csv") / "roofline.csv"
    path.write_text(to_csv(Ceilings("", None, None, bandwidth, arithmetic)))
    if bandwidth or arithmetic:
        found = read_ceilings(path)
        assert (found.bandwidth, found.arithmetic) == (bandwidth, arithmetic)
    else:
        with pytest.raises(TraceError, match="contains no ceilings"):
            read_ceilings(path)


@pytest.mark.parametrize(
    "text", ["", "device,HBMBw\n0,-1\n", "device,HBMBw\n0,fast\n", "device,HBMBw\n1,5\n", "{", '{"ceilings": 3}']
)
def test_a_file_without_ceilings_is_one_clear_error(text, tmp_path):
    (tmp_path / "f").write_text(text)
    with pytest.raises(TraceError, match="f"):
        read_ceilings(tmp_path / "f")
    with pytest.raises(MissingInputError, match="cannot read"):
        read_ceilings(tmp_path / "absent")


HBM = {"level": "HBM", "value": 1600.0, "low": 1500.0, "high": 1700.0}
I8 = {"precision": "i8", "pipe": "mfma", "value": 3, "low": 2, "high": 4}


def document(tmp_path, *entries, target="gfx942", timing="measured"):
    (tmp_path / "c.json").write_text(json.dumps({"target": target, "timing": timing, "ceilings": entries}))
    return tmp_path / "c.json"


def test_a_document_with_levels_and_pipes(tmp_path):
    failed = dict.fromkeys(("value", "low", "high"))
    path = document(tmp_path, HBM, I8, {"level": "L2"} | failed, {"precision": "f64", "pipe": "valu"} | failed)
    found = read_ceilings(path)
    assert (found.source, found.target, found.timing) == (str(path), "gfx942", "measured")
    assert found.bandwidth == {"HBM": Ceiling(1600.0, 1500.0, 1700.0)}
    assert found.arithmetic == {("i8", "mfma"): Ceiling(3.0, 2.0, 4.0)}
    assert read_ceilings(document(tmp_path, I8)).bandwidth == {} == read_ceilings(document(tmp_path, HBM)).arithmetic


@pytest.mark.parametrize("name", ["value", "low", "high"])
@pytest.mark.parametrize("number", [0, -1.0, float("inf"), float("nan"), "fast", None, [1]])
def test_a_value_that_is_not_a_rate_is_refused(tmp_path, name, number):
    path = document(tmp_path, HBM | {name: number})
    with pytest.raises(TraceError, match="is not a ceilings.json|contains no ceilings"):
        read_ceilings(path)


@pytest.mark.parametrize("entry", [{"value": 1, "low": 1}, {"value": 1, "low": 1, "high": 1}, 7, "value"])
def test_an_incomplete_entry_is_refused(tmp_path, entry):
    with pytest.raises(TraceError, match="is not a ceilings.json"):
        read_ceilings(document(tmp_path, entry))


@pytest.mark.parametrize(
    "target, timing, targets, of_kernels, said",
    [
        ("gfx942", "measured", ["gfx942", "gfx942:xnack-"], "measured", None),
        ("gfx942", "modelled", [], "modelled", None),
        (None, None, ["gfx942", "gfx90a"], "measured", None),
        ("gfx942", None, ["gfx942"], "modelled", None),
        (
            "gfx942", "measured", ["gfx942", "gfx90a:xnack-"], "measured",
            "holds ceilings for gfx942, but the kernels ran on gfx90a:xnack-",
        ),
        ("gfx942", "modelled", ["gfx942"], "measured", "has modelled ceilings, but the kernels' times are measured"),
        ("gfx942", "measured", ["gfx942"], "modelled", "has measured ceilings, but the kernels' times are modelled"),
    ],
)  # fmt: skip
def test_ceilings_must_be_for_the_device_and_the_kind_of_times_of_the_kernels(
    tmp_path, target, timing, targets, of_kernels, said
):
    path = document(tmp_path, HBM, target=target, timing=timing)
    if said is None:
        assert ceilings_for(path, targets, of_kernels).target == target
    else:
        with pytest.raises(UsageError, match=said):
            ceilings_for(path, targets, of_kernels)


COLUMNS = {
    "HBM": "HBMBw", "L2": "L2Bw", ("f16", "valu"): "FP16Flops", ("f64", "valu"): "FP64Flops", ("f8", "mfma"): "MFMAF8Flops",
    ("bf16", "mfma"): "MFMABF16Flops", ("xf32", "mfma"): "MFMAXF32Flops", ("i8", "mfma"): "MFMAI8Ops",
}  # fmt: skip


@pytest.mark.parametrize("key", COLUMNS)
def test_the_column_of_a_level_or_pipe(key):
    assert column(key) == COLUMNS[key] and _pipe(COLUMNS[key]) == (None if isinstance(key, str) else key)


@pytest.mark.parametrize("name", [None, "", "FP8Flops", "FP32FlopsLow", "MFMAI8OpsHigh", "MFMAX8Flops", "device"])
def test_other_columns_belong_to_no_pipe(name):
    assert _pipe(name) is None


def test_each_device_reads_its_row_and_a_rate_may_have_no_spread(tmp_path):
    (tmp_path / "r.csv").write_text("device,HBMBw,HBMBwLow,FP32Flops\n0,5,4,1\n1,7,6,2\n")
    for number, hbm, f32 in ((0, Ceiling(5, 4, 5), Ceiling(1, 1, 1)), (1, Ceiling(7, 6, 7), Ceiling(2, 2, 2))):
        found = read_ceilings(tmp_path / "r.csv", number)
        assert found.bandwidth == {"HBM": hbm} and found.arithmetic == {("f32", "valu"): f32} and found.target is None
    with pytest.raises(TraceError, match="has no row for device 2"):
        read_ceilings(tmp_path / "r.csv", 2)
    (tmp_path / "r.csv").write_text("device,HBMBw\n0,inf\n")
    with pytest.raises(TraceError, match="HBMBw is 'inf', not a rate"):
        read_ceilings(tmp_path / "r.csv")


def test_a_row_is_written_with_eight_digits():
    found = Ceilings("", None, None, {"L2": Ceiling(1234.56789, 1.0, 2.0)}, {("i8", "mfma"): Ceiling(3.0, 2.0, 4.0)})
    assert to_csv(found) == "device,L2Bw,L2BwLow,L2BwHigh,MFMAI8Ops,MFMAI8OpsLow,MFMAI8OpsHigh\n0,1234.5679,1,2,3,2,4\n"


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "c.json").write_bytes(b"\xff{")
    with pytest.raises(TraceError, match="is not text"):
        read_ceilings(tmp_path / "c.json")
    with pytest.raises(TraceError, match="contains no ceilings"):
        read_ceilings(document(tmp_path))
