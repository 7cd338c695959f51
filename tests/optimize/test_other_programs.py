"""What else a build makes from a source: which units the compiler is asked about, and whose launches change as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.gate.source.launch_change import LaunchRefusedError, launch_change
from rocm_perf_lab.optimize.build_commands import BuildCommand, output_commands
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.other_programs import may_include
from small_projects import COMMAND, PROJECTS, Project

TWO = PROJECTS["cmake, two programs"]().files
BUILD = f"{COMMAND} main.hip -o program && {COMMAND} other.hip -o other"


@pytest.mark.parametrize(
    "text, words, found",
    [
        ('#include "rows.h"\n', "-Iinclude", True),
        ("#  include <rows.h>\n", "-isystem include", True),
        ('#include "between.h"\n', "-I include", True),
        ("#define NAME <rows.h>\n#include NAME\n", "", True),
        ('#include "rows.h"\n', "", False),
        ("// rows.h\n#include <stdio.h>\n", "-Iinclude", False),
    ],
)
def test_which_units_the_compiler_is_asked_about(tmp_path, text, words, found):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "rows.h").write_text("")
    (tmp_path / "include" / "between.h").write_text('#include "rows.h"\n')
    (tmp_path / "main.hip").write_text(text)
    (command,) = output_commands([BuildCommand(("hipcc", *words.split(), "-c", "main.hip"), tmp_path)])
    assert may_include(command, tmp_path / "include" / "rows.h") == found


def test_an_unchangeable_launch_in_another_program_keeps_the_shape(tmp_path, monkeypatch, hipcc):
    monkeypatch.chdir(tmp_path)
    other = TWO["other.hip"].replace("(rows + 63) / 64, 64>>>", "rows, 1>>>")
    Project({**TWO, "other.hip": other}, "kernel.h").written_to(tmp_path)
    target = find_build_target(("./program",), Path("kernel.h"), BUILD)
    assert target.other_products.names == ("other",) and [one.linked for one in target.units] == [False]
    source = target.read()
    with pytest.raises(LaunchRefusedError, match="differ from each other already"):
        launch_change(source, source.kernel("sums"), ())


def test_units_that_nothing_links_count(tmp_path, monkeypatch, hipcc):
    monkeypatch.chdir(tmp_path)
    Project(TWO, "kernel.h").written_to(tmp_path)
    archive = f"{COMMAND} main.hip -o program && {COMMAND} -c other.hip -o other.o && ar rcs libother.a other.o"
    assert find_build_target(("./program",), Path("kernel.h"), archive).other_products.names == ("libother.a",)
    shared = f"{COMMAND} main.hip -o program && {COMMAND} -shared -fPIC other.hip -o libother.so"
    assert find_build_target(("./program",), Path("kernel.h"), shared).other_products.names == ("libother.so",)


def test_programs_of_other_sources_are_ignored(tmp_path, monkeypatch, hipcc):
    monkeypatch.chdir(tmp_path)
    apart = TWO["other.hip"].replace('#include "kernel.h"', TWO["kernel.h"].replace("#pragma once\n", ""))
    Project({**TWO, "other.hip": apart}, "kernel.h").written_to(tmp_path)
    target = find_build_target(("./program",), Path("kernel.h"), BUILD)
    assert target.other_products.names == () and not target.units
