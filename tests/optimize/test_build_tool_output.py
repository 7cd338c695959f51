"""Builds with make, ninja and CMake, reduced to their commands, which build the same as the tool itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import needs
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.optimize.build_description import Build, build_of
from rocm_perf_lab.optimize.build_tool_output import commands_of

MAIN = "int part(); int main() { return part() - VALUE; }\n"
PART = '#include "value.h"\nint part() { return VALUE; }\n'
MAKEFILE = """\
CXX = c++
FLAGS := -Iinclude \\
  -DVALUE=42
all: parts app
app: main.o parts/libpart.a
	@echo linking $@; $(CXX) main.o -Lparts -lpart -o $@
main.o: main.cpp Makefile
	$(CXX) $(FLAGS) -c $< -o $@
parts/libpart.a: parts
parts:
	$(MAKE) -C parts
.PHONY: all parts
"""
PARTS = """\
libpart.a: part.cpp
	mkdir -p out && cd out && c++ -I../../include -c ../part.cpp
	ar rcs $@ out/part.o
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(parts CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_library(part STATIC parts/part.cpp)
target_include_directories(part PRIVATE include)
add_executable(app main.cpp)
target_compile_definitions(app PRIVATE VALUE=42)
target_link_libraries(app part)
add_executable(other main.cpp)
target_compile_definitions(other PRIVATE VALUE=41)
target_link_libraries(other part)
"""


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    files = {"main.cpp": MAIN, "parts/part.cpp": PART, "include/value.h": "#define VALUE 42\n"}
    files |= {"Makefile": MAKEFILE, "parts/Makefile": PARTS, "CMakeLists.txt": CMAKE}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made_elsewhere(build: Build, folder: Path) -> Path:
    """The program, built by the build's commands with every output in a different folder."""
    folder.mkdir()
    places = {command.output: folder / f"{number}-{command.output.name}" for number, command in enumerate(build.commands)}
    for command in build.commands:
        subprocess.run(command.with_paths(places), cwd=command.folder, check=True)
    return places[build.commands[-1].output]


def test_make_with_a_folder_below_and_an_archive(project, tmp_path):
    subprocess.run(["make", "-s"], cwd=project, check=True)
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    build = build_of(commands_of("make all", project), Path("./app"))
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before
    assert [command.output.name for command in build.commands] == ["main.o", "part.o", "libpart.a", "app"]
    assert subprocess.run([made_elsewhere(build, tmp_path / "made")]).returncode == 0


def test_folders_and_targets_name_builds(project):
    with pytest.raises(UsageError, match="parts/out, which does not exist"):
        build_of(commands_of("make", project), Path("app"))
    (project / "parts" / "out").mkdir()
    assert len(build_of(commands_of("make", project), Path("app")).units) == 2
    assert len(build_of(commands_of(".", project), Path("app")).units) == 2


@pytest.mark.parametrize("generator, tool", [("Unix Makefiles", "make"), ("Ninja", "ninja")])
def test_a_cmake_folder(project, tmp_path, generator, tool):
    needs.program(tool)
    subprocess.run([needs.program("cmake"), "-G", generator, "-S", ".", "-B", "b"], check=True, capture_output=True)
    for text in ("b", "cmake --build b --target app"):
        build = build_of(commands_of(text, project), Path("b/app"))
        assert {path.name for command in build.units for path in command.sources} == {"main.cpp", "part.cpp"}
        shutil.rmtree(tmp_path / "made", ignore_errors=True)
        assert subprocess.run([made_elsewhere(build, tmp_path / "made")]).returncode == 0
    other = build_of(commands_of("b", project), Path("b/other"))
    shutil.rmtree(tmp_path / "made")
    assert subprocess.run([made_elsewhere(other, tmp_path / "made")]).returncode == 1


def test_who_includes_a_header(project):
    (project / "parts" / "out").mkdir()
    build = build_of(commands_of("make", project), Path("app"))
    assert [command.sources[0].name for command in build.units_including(Path("include/value.h"))] == ["part.cpp"]
    assert {path.name for path in build.outputs_from(Path("include/value.h"))} == {"part.o", "libpart.a", "app"}
    assert {path.name for path in build.outputs_from(Path("main.cpp"))} == {"main.o", "app"}


@pytest.mark.parametrize(
    "text, told",
    [
        ("make nothing", "No rule to make target 'nothing'"),
        ("parts/part.cpp '", "balance its quotes"),
        ("echo nothing", "no command that makes a program"),
        ("c++ main.o -o app", "does not say how its objects are compiled"),
        ("c++ main.cpp -o one && c++ main.cpp -o two", "makes 2 programs"),
        ("include", "no compile_commands.json, build.ninja or Makefile"),
    ],
)
def test_an_invalid_build_is_reported(project, text, told):
    with pytest.raises(UsageError) as error:
        build_of(commands_of(text, project), Path("app"))
    assert told in f"{error.value.problem}; {error.value.hint}"
