"""A different code object in place of the captured one: the same results, other results, or a refusal."""

from __future__ import annotations

import json
import struct

import pytest

from rocm_perf_lab.errors import RocmPerfError, UnfitCodeError
from rocm_perf_lab.replaying import replay

COUNT = 5000


@pytest.fixture
def mix(captured, features, module):
    return captured(features, "mix", 0, "module", module())


@pytest.fixture
def halve(captured, features, module):
    return captured(features, "halve", 0, "floats", module())


def test_the_same_code_elsewhere_gives_the_same_bytes(captured, features):
    """The kernel uses variables of its code object, which lie elsewhere in the replacement."""
    case = captured(features, "through_variables", 0, "variables")
    result = replay(case, hsaco=case.code_object, iterations=2, compare=True, poison=0xA5, device="gfx942")
    assert result.equal, result.differing_regions
    assert result.document.kernel.hsaco_path == str(case.code_object)


def test_code_that_computes_something_else_is_reported(mix, module, rocm_perf, tmp_path):
    wrong = module("-DFACTOR=19")
    arguments = [
        "--capture-dir",
        mix.path,
        "--hsaco",
        wrong,
        "--iterations",
        1,
        "--compare",
        "--dump-output",
        tmp_path / "dump",
    ]
    done = rocm_perf("replay", "full-vm", *arguments)
    assert done.returncode == 40, done.stderr
    assert "DIFFERENT" in done.stdout and not done.stderr.startswith("rocm-perf: error")
    # The dump holds what the other code computes from the captured input.
    (address,) = struct.unpack_from("<Q", (mix.path / "kernarg.bin").read_bytes())
    before = struct.unpack(f"<{COUNT}I", mix.memory(address, 4 * COUNT))
    expected = [((value ^ 0x5BD1E995) * 19 + i) % 2**32 for i, value in enumerate(before)]
    regions = json.loads((tmp_path / "dump" / "outputs.json").read_text())["regions"]
    (region,) = [r for r in regions if int(r["base"], 16) <= address < int(r["base"], 16) + r["bytes"]]
    content = (tmp_path / "dump" / region["file"]).read_bytes()
    assert list(struct.unpack_from(f"<{COUNT}I", content, address - int(region["base"], 16))) == expected


@pytest.mark.parametrize(
    "flags, why",
    [
        (["-DMORE_ARGUMENTS"], "arguments"),
        (["-DLDS_BYTES=65536", "-DBOUNDS=1024", "-DHALF=0.25f"], ""),  # it fits exactly
        (["-DBOUNDS=64"], "workgroups of 64 work-items"),
        (["-Dmix=other"], "no kernel mix"),
    ],
)
def test_code_that_does_not_fit_is_refused(mix, module, flags, why):
    if not why:
        assert replay(mix, hsaco=module(*flags), iterations=1, compare=True, device="gfx942").equal
        return
    with pytest.raises(UnfitCodeError, match=why):
        replay(mix, hsaco=module(*flags), iterations=1, device="gfx942")


@pytest.mark.parametrize(
    "content, why", [(b"", "empty"), (b"no code at all", "not an AMD GPU code object"), (None, "cannot be read")]
)
def test_a_file_that_is_not_a_code_object_is_refused(mix, rocm_perf, tmp_path, content, why):
    file = tmp_path / "candidate.hsaco"
    if content is not None:
        file.write_bytes(content)
    done = rocm_perf("replay", "full-vm", "--capture-dir", mix.path, "--hsaco", file)
    assert done.returncode == 41 and why in done.stderr and str(file) in done.stderr and not done.stdout
    assert len(done.stderr.splitlines()) == 1


def test_damaged_code_objects_are_refused_or_run(mix, tmp_path):
    """A changed byte can be harmless; it must never be a crash."""
    original = mix.code_object.read_bytes()
    for position in range(0, len(original), len(original) // 6):
        file = tmp_path / f"{position}.hsaco"
        file.write_bytes(original[:position] + bytes([original[position] ^ 0xFF]) + original[position + 1 :])
        try:
            replay(mix, hsaco=file, iterations=1, timeout=20, device="gfx942")
        except RocmPerfError as error:
            assert "ended with status" not in str(error), error


# ---- tolerance ----


def test_a_small_error_is_within_a_tolerance_or_not(halve, module):
    other = module("-DHALF=0.500005f")  # a relative error of 1e-5
    exact = replay(halve, hsaco=other, iterations=1, compare=True, device="gfx942")
    assert exact.equal is False
    for tolerance, equal in (("f32=1e-4", True), ("f32=1e-6", False), ("f32=0,0.1", True), ("f32=0,0.001", False)):
        result = replay(halve, hsaco=other, iterations=1, tolerances=[tolerance], device="gfx942")
        assert result.equal is equal, tolerance
    regions = replay(halve, hsaco=other, iterations=1, tolerances=["f32=1"], device="gfx942").document.comparison.regions
    assert max(region.largest_relative_error for region in regions) == pytest.approx(1e-5, rel=0.01)


def test_a_tolerance_for_one_allocation_leaves_the_others_exact(halve, module):
    other = module("-DHALF=0.500005f")
    to, source = struct.unpack_from("<QQ", (halve.path / "kernarg.bin").read_bytes())
    assert replay(halve, hsaco=other, iterations=1, tolerances=[f"{to:#x}:f32=1e-4"], device="gfx942").equal is True
    assert replay(halve, hsaco=other, iterations=1, tolerances=[f"{source:#x}:f32=1e-4"], device="gfx942").equal is False


@pytest.mark.parametrize("text", ["f32", "f33=1", "f32=-1", "f32=nan", "f32=1,", "xyz:f32=1", "f32=1e-3x"])
def test_a_tolerance_that_cannot_be_parsed_is_refused(mix, rocm_perf, text):
    done = rocm_perf("replay", "full-vm", "--capture-dir", mix.path, "--tolerance", text)
    assert done.returncode == 2 and text in done.stderr and not done.stdout


def test_poison_and_stateful_exclude_each_other(mix, rocm_perf):
    done = rocm_perf("replay", "full-vm", "--capture-dir", mix.path, "--poison", 1, "--no-recopy")
    assert done.returncode == 2 and "--no-recopy" in done.stderr
