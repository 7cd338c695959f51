"""What commands read and write: a program that is built step by step equals the one built by the whole command, byte by
byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import needs
from rocm_perf_lab.optimize.build_commands import BuildCommand, output_commands
from rocm_perf_lab.optimize.build_description import build_of
from rocm_perf_lab.optimize.build_tool_output import commands_of_shell

SOURCES = {
    "main.cpp": '#include "parts/k.h"\nint one(); int two();\nint main() { return one() + two() + K + F; }\n',
    "parts/one.cpp": '#include "k.h"\nint one() { return K * F; }\n',
    "parts/two.cpp": "int two() { return F - 1; }\n",
    "parts/k.h": "#pragma once\nconstexpr int K = 7;\n",
}
OPTIONS = (["-O1"], ["-I", "parts"], ["-DF=3"], ["-lm"], ["-Wl,--build-id=none"], ["-MMD"], ["-fno-plt"], ["-Wl,-O1"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    for name, text in SOURCES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run_commands(commands, folder: Path) -> None:
    for command in commands:
        subprocess.run(command.argv, cwd=command.folder, check=True, capture_output=True)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations([[name] for name in SOURCES if name.endswith(".cpp")] + list(OPTIONS)))
def test_a_command_with_several_sources_is_split_into_commands_for_its_files(folder, order):
    words = [needs.program("g++", "c++"), *(word for part in order for word in part), "-o", "app"]
    subprocess.run(words, cwd=folder, check=True)
    whole = (folder / "app").read_bytes()
    (folder / "app").unlink()
    build = build_of([BuildCommand(tuple(words), folder)], folder / "app")
    assert [len(command.sources) for command in build.commands] == [1, 1, 1, 0] and build.commands[-1].output == folder / "app"
    run_commands(build.commands, folder)
    assert (folder / "app").read_bytes() == whole


@pytest.mark.parametrize(
    "text, sources, output",
    [
        ("hipcc -O3 a.hip -o app", ["a.hip"], "app"),
        ("hipcc a.cu", ["a.cu"], "a.out"),
        ("hipcc -c -DX='a b' a.cu", ["a.cu"], "a.o"),
        ("ccache clang++-22 -x hip -c d/a.cpp -o b/a.o -MF a.d", ["d/a.cpp"], "b/a.o"),
        ("x86_64-linux-gnu-g++-14 -c a.cc -o a.o", ["a.cc"], "a.o"),
        ("LANG=C hipcc a.hip b.o -o app > log 2>&1", ["a.hip"], "app"),
        ("ar qc libk.a a.o b.o", [], "libk.a"),
    ],
)
def test_the_outputs_of_a_command(tmp_path, text, sources, output):
    (command,) = output_commands(commands_of_shell(text, tmp_path))
    assert [str(path.relative_to(tmp_path)) for path in command.sources] == sources and command.output == tmp_path / output
    assert "-MF" not in command.argv


@pytest.mark.parametrize("text", ["echo hipcc a.cu -o app", "mkdir -p b", "hipcc --version", "hipcc -MM a.cu", "rm -f a.o"])
def test_a_command_without_an_output_of_the_program_is_not_a_build_command(tmp_path, text):
    assert output_commands(commands_of_shell(text, tmp_path)) == []


@pytest.mark.parametrize(
    "text, is_hip",
    [
        ("hipcc -c a.cpp", True),
        ("hipcc -c a.c", False),
        ("clang++ -c a.cpp", False),
        ("clang++ -x hip -c a.cpp", True),
        ("clang++ -c a.hip", True),
        ("g++ -c a.cpp", False),
    ],
)
def test_which_files_the_compiler_treats_as_hip(tmp_path, text, is_hip):
    assert output_commands(commands_of_shell(text, tmp_path))[0].is_hip == is_hip
