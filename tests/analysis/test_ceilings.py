"""Measured ceilings: a recorded roofline.csv, what is written against what is read, and files that hold none."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.analysis.ceilings import LEVELS, Ceiling, Ceilings, read_ceilings, to_csv
from rocm_perf_lab.errors import MissingInputError, TraceError

PIPES = [("f16", "valu"), ("f32", "valu"), ("f64", "valu"), ("f8", "mfma"), ("bf16", "mfma"), ("xf32", "mfma"), ("i8", "mfma")]
rates = st.floats(0.001, 1e9).map(lambda number: float(f"{number:.8g}"))
ceilings = st.builds(Ceiling, rates, rates, rates)


def test_a_recorded_file_says_what_its_columns_say(shared_data):
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


def test_0_means_that_it_was_not_measured(tmp_path):
    """As rocprof-compute writes for an MI300X: there are no FP4 matrix units to try."""
    names = "device,HBMBw,HBMBwLow,hbmBwHigh,MFMAF4Flops,MFMAF4FlopsLow,MFMAF4FlopsHigh,MALLBw"
    (tmp_path / "r.csv").write_text(f"{names}\n0,4244.35,4242.49,4246.21,0,0,0,0\n")
    found = read_ceilings(tmp_path / "r.csv")
    assert found.bandwidth == {"HBM": Ceiling(4244.35, 4242.49, 4246.21)} and not found.arithmetic
    (tmp_path / "r.csv").write_text("device,HBMBw,MFMAF4Flops\n0,0,0\n")
    with pytest.raises(TraceError, match="contains no ceilings"):
        read_ceilings(tmp_path / "r.csv")


@given(st.dictionaries(st.sampled_from(LEVELS), ceilings), st.dictionaries(st.sampled_from(PIPES), ceilings))
def test_what_is_written_is_read(tmp_path_factory, bandwidth, arithmetic):
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
