"""The classes that counters and costs use are in an instruction's table entry; they must agree with its name in LLVM."""

import re
import subprocess

import pytest
from test_matrix import older_matrix_of

ARITHMETIC = ["none", "add", "multiply", "multiply-add", "transcendental", "conversion", "int32", "int64"]
PRECISION = ["", "i8", "f8", "f8f6f4", "f16", "bf16", "f32", "xf32", "f64"]
UPDATE = {
    "add": "add", "sub": "add", "smin": "smin", "umin": "umin", "smax": "smax", "umax": "umax", "and": "and", "or": "or",
    "xor": "xor", "inc": "inc", "dec": "dec", "swap": "exchange", "cmpswap": "exchange", "csub": "exchange",
}  # fmt: skip
UPDATES = ["", "add", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec", "exchange", "float"]
STEMS = {
    "add": "add|sub|subrev|pk_add",
    "multiply": "mul|mul_legacy|pk_mul",
    "multiply-add": "fma|fmac|fmac_legacy|fmamk|fmaak|fma_legacy|pk_fma|pk_fmac|div_fmas|mad|mac|madmk|madak|mad_legacy",
    "transcendental": "exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos",
}


@pytest.fixture(scope="module")
def entries(probe):
    """name -> (arithmetic, precision, shape, update, stores, leaves)"""
    lines = subprocess.run([probe, "classes"], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for line in lines:
        name, arithmetic, precision, shape, update, stores, leaves = line.split()
        numbers = tuple(map(int, shape.split("x")))
        found[name] = (
            ARITHMETIC[int(arithmetic)],
            PRECISION[int(precision)],
            numbers,
            UPDATES[int(update)],
            stores == "1",
            leaves == "1",
        )
    assert len(found) > 1000
    return found


def arithmetic_of(name):
    if not name.startswith("v_") or name.startswith(("v_mfma", "v_smfmac")):
        return "none"
    if name.startswith("v_cvt_"):
        return "conversion"
    for kind, stems in STEMS.items():
        if re.fullmatch(rf"v_({stems})_f(16|32|64)", name):
            return kind
    width = re.fullmatch(r"v_\w+_[iu](32|64)", name)
    return f"int{width[1]}" if width else "none"


def test_arithmetic_is_what_the_name_says(entries):
    wrong = {name: (entry[0], arithmetic_of(name)) for name, entry in entries.items() if entry[0] != arithmetic_of(name)}
    assert not wrong


def test_precision_of_arithmetic_is_the_suffix(entries):
    counted = {name: entry for name, entry in entries.items() if entry[0] in STEMS}
    assert len(counted) > 40
    assert {name: entry[1] for name, entry in counted.items()} == {name: name.rsplit("_", 1)[1] for name in counted}


def test_matrix_instructions_have_the_shape_and_type_of_their_name(entries):
    seen = 0
    for name, entry in entries.items():
        text = re.fullmatch(r"v_s?mf(?:ma|mac)_\w+?_(\d+)x(\d+)x(\d+)_(?:(\d+)b_)?(\w+)", name)
        if older := older_matrix_of(name):
            assert (entry[1], *entry[2]) == (older.a, older.m, older.m, older.k, older.blocks), name
            continue
        if not text:
            assert entry[2] == (0, 0, 0, 0), name
            continue
        seen += 1
        assert entry[2] == (int(text[1]), int(text[2]), int(text[3]), int(text[4] or 1)), name
        assert entry[1] == ("f8" if re.fullmatch("[fb][pf]8_[fb][pf]8", text[5]) else text[5]), name
    assert seen > 40


def test_atomics_on_global_memory_have_their_kind(entries):
    seen = 0
    for name, entry in entries.items():
        text = re.fullmatch(r"(?:s|s_buffer|flat|global|buffer)_atomic_(\w+?)(?:_x2)?", name)
        if not text:
            assert entry[3] == "", name
            continue
        seen += 1
        assert entry[3] == UPDATE.get(text[1], "float"), name
        assert entry[3] != "float" or re.search(r"_b?f(16|64|32)$|_f(min|max)(_x2)?$", name), name
    assert seen > 80


def test_which_instructions_store_and_which_end_the_wave_or_branch_away(entries):
    stores = {name for name, entry in entries.items() if entry[4]}
    assert stores == {name for name in entries if name.startswith(("s_store_", "s_buffer_store_", "ds_write"))}
    assert {name for name, entry in entries.items() if entry[5]} == {"s_branch", "s_setpc_b64", "s_endpgm"}
