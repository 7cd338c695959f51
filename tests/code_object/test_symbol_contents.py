"""The sections of object files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.code_object.symbol_contents import host_sections
from rocm_perf_lab.errors import SourceError


@pytest.mark.parametrize("flags, whole", [([], True), (["-flto"], False), (["-flto=thin"], False)])
def test_bitcode_is_refused_by_its_name(tmp_path: Path, hipcc: str, flags: list[str], whole: bool) -> None:
    (tmp_path / "x.cpp").write_text("int one() { return 1; }")
    subprocess.run([hipcc, "-x", "c++", *flags, "-c", "x.cpp", "-o", "x.o"], cwd=tmp_path, check=True, capture_output=True)
    image = (tmp_path / "x.o").read_bytes()
    if whole:
        assert ".text" in host_sections(image)
        return
    with pytest.raises(SourceError) as raised:
        host_sections(image)
    assert "bitcode" in raised.value.problem and "-flto" in raised.value.hint
