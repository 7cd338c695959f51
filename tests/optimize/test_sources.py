"""Programs of several sources, with kernels in headers: what is built, judged and written, and what is refused and why."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.code_object.symbol_contents import contents_by_symbol, host_sections
from rocm_perf_lab.errors import NoCaptureError, NoSourceError, RocmPerfError, SourceError
from rocm_perf_lab.gate.code_object.translation_units import device_difference, host_difference
from rocm_perf_lab.hip_source.edits import unified_diff
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.optimize.build_target import find_build_target, reader_of, settings_of
from rocm_perf_lab.optimize.builders import ProgramBuilder, SourceBuilder
from rocm_perf_lab.optimize.captured_unit import unit_of
from rocm_perf_lab.optimize.other_programs import other_products
from rocm_perf_lab.optimize.source_settings import SourceSettings

pytestmark = pytest.mark.usefixtures("hipcc")
WHOLE = Path(__file__).with_name("program.hip").read_text()
DECLARATIONS = WHOLE[: WHOLE.index("__device__ inline")]
HEADER, MAIN = WHOLE.split("constexpr int kRows")
HEADER = "#pragma once\n" + HEADER
FILLED = "for (int i = 0; i < kRows * kColumns; ++i) numbers[i] = (i * 37 % 101) * 0.25f - 12;"
assert FILLED in MAIN
MAIN = '#include "../include/rows.h"\nvoid fill(float*, int);\nconstexpr int kRows' + MAIN
MAIN = MAIN.replace(FILLED, "fill(numbers, kRows * kColumns);")
FILL = "void fill(float* numbers, int count) { for (int i = 0; i < count; ++i) numbers[i] = (i * 37 % 101) * 0.25f - 12; }\n"
MAKEFILE = """\
CXX = hipcc -O2 -nogpuinc --offload-arch=gfx942
program: main.o fill.o
	$(CXX) $^ -o $@
%.o: src/%.hip include/rows.h
	$(CXX) -c $< -o $@
"""
COMMAND = "hipcc -O2 -nogpuinc --offload-arch=gfx942"
LOOP = "for (int i = 0; i < columns; ++i) sum += in[row * columns + i];"


def project_in(folder: Path, **more: str) -> Path:
    files = {"include/rows.h": HEADER, "src/main.hip": MAIN, "src/fill.hip": FILL, "Makefile": MAKEFILE} | more
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return project_in(tmp_path)


@pytest.fixture(scope="module")
def optimized(tmp_path_factory, rocm_perf_in, native_dir) -> tuple[Path, dict]:
    """A program that make built: neither its source nor its build is named."""
    folder = project_in(tmp_path_factory.mktemp("sources"))
    subprocess.run(["make", "-s"], cwd=folder, check=True)
    options = ["--device", "gfx942", "--transforms", "unroll", "--factors", "4", "--max-iters", "1", "--kernel", "sum_rows"]
    options += ["--max-regression", "vgpr=0.5,dram=0.2", "--auto-approve", "--accept", "modelled", "--json", "--seed", "5"]
    return folder, json.loads(rocm_perf_in(folder, "optimize", *options, "./program").stdout)


def test_a_kernel_in_a_header_gains(optimized):
    folder, outcome = optimized
    assert outcome["accepted"] and outcome["final_ms"] < outcome["baseline_ms"], outcome
    header = folder / "include" / "rows.h"
    assert Path(outcome["source"]).resolve() == header and header.read_text() == HEADER
    result, patch = map(Path, outcome["written"])
    assert result == header.with_name("rows.optimized.h")
    assert patch.read_text() == unified_diff(HEADER.encode(), result.read_bytes(), "rows.h")
    assert result.read_text() == HEADER.replace(LOOP, "#pragma unroll 4\n  " + LOOP)


def test_units_that_do_not_include_it_are_built_once(optimized):
    _, outcome = optimized
    entries = [json.loads(line) for line in (Path(outcome["run"]) / "journal.jsonl").read_text().splitlines()]
    commands = [" ".join(entry["command"]) for entry in entries if entry["event"] == "build"]
    assert sum("fill.hip" in command for command in commands) == 1
    assert sum("main.hip" in command and "-gline-tables-only" in command for command in commands) == 2  # baseline, candidate


def test_the_users_own_build_with_the_result_prints_the_same(optimized, rocm_perf_in):
    folder, outcome = optimized
    before = rocm_perf_in(folder, "run", "--device", "gfx942", "./program").stdout
    rebuilt = project_in(folder / "rebuilt", **{"include/rows.h": Path(outcome["written"][0]).read_text()})
    subprocess.run(["make", "-s"], cwd=rebuilt, check=True)
    assert rocm_perf_in(rebuilt, "run", "--device", "gfx942", "./program").stdout == before != ""


def test_of_several_sources_the_one_with_the_most_expensive_kernel_is_chosen(tmp_path, rocm_perf, native_dir):
    main = MAIN.replace('#include "../include/rows.h"\n', HEADER.removeprefix("#pragma once\n"))
    project_in(tmp_path, **{"src/main.hip": main, "src/fill.hip": DECLARATIONS + "__global__ void unused() {}\n" + FILL})
    options = ("--device", "gfx942", "--dry-run", "--json")
    unbuilt = rocm_perf("optimize", *options, "./program")
    assert unbuilt.returncode == 43 and "2 sources with kernels" in unbuilt.stderr
    subprocess.run(["make", "-s"], cwd=tmp_path, check=True)
    done = rocm_perf("optimize", *options, "./program")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert Path(outcome["source"]).name == "main.hip" and outcome["source_found_by"] == "its kernel's share of the time"
    assert "main.hip has sum_rows(" in done.stderr and "--source chooses another one" in done.stderr
    wrong = rocm_perf("optimize", *options, "--kernel", "nothing_like_it", "./program")
    assert wrong.returncode == 2
    assert "--kernel nothing_like_it matches no kernel of the program; it has sum_rows(" in wrong.stderr
    rocm_perf("profile", "--device", "gfx942", "-o", "seen", "./program")
    told = rocm_perf("prompt", "--profile", "seen", "./program")
    assert told.returncode == 0 and "main.hip has sum_rows(" in told.stderr and "running it once" not in told.stderr


@pytest.mark.parametrize("view", [View(), View(trusted=True)], ids=["caged", "trusted"])
@pytest.mark.parametrize("build", [f"{COMMAND} src/main.hip src/fill.hip -o program", "make"])
def test_the_text_of_a_candidate_is_built(project, rocm_perf, native_dir, build, view):
    """Also with two sources in one command, each of which defines its own symbol because of Clang's -cuid."""
    build_target = find_build_target(("./program",), None, build)
    assert build_target.source == project / "include" / "rows.h"
    builder = ProgramBuilder(build_target.build, "gfx942", project / "kept", CageLimits(), view=view)
    printed = []
    for text in (HEADER, HEADER.replace("sums[row] = sum;", "sums[row] = 0;")):
        builder.make(build_target.read(text.encode()), project / "program")
        ran = rocm_perf("run", "--device", "gfx942", "./program")
        printed.append(ran.stdout.split())
        assert ran.returncode == 0, ran.stderr
    assert printed[0][0] != "0" == printed[1][0] and printed[0][1] == printed[1][1]
    assert (project / "include" / "rows.h").read_text() == HEADER


SHARED = f"""\
{HEADER.split("__device__ inline int lane")[0]}
constexpr int kStep = 1, kOffset = 2;
#ifndef WIDTH
#define WIDTH 1
#endif
template <class T> __global__ void twice(T* values) {{ values[__builtin_amdgcn_workitem_id_x() * WIDTH] *= 2; }}
"""
ONE = '#include "shared.h"\ntemplate __global__ void twice<float>(float*);\nint main() {}\n'
TWO = (
    '#include "shared.h"\ntemplate __global__ void twice<float>(float*);\n__global__ void other(int* x) { x[0] = kStep; }\n'
    "int host() { return kOffset; }\n"
)


def in_two_units(folder: Path, flags: str = ""):
    for name, text in (("shared.h", SHARED), ("one.hip", ONE), ("two.hip", TWO)):
        (folder / name).write_text(text)
    build = f"{COMMAND} -c one.hip -o one.o && {COMMAND} {flags} -c two.hip -o two.o && {COMMAND} one.o two.o -o app"
    source = find_build_target(("./app",), folder / "shared.h", build).read()
    return source, source.kernel("twice"), "_Z5twiceIfEvPT_"


@pytest.mark.parametrize(
    "old, new, device, host",
    [
        ("*= 2", "*= 4", None, None),
        ("kStep = 1", "kStep = 3", "in two.hip: the function _Z5otherPi has different bytes", None),
        ("kOffset = 2", "kOffset = 4", None, "in two.hip: the host's object code differs in .text"),
    ],
)
def test_other_units_may_change_only_in_the_kernel(tmp_path, monkeypatch, old, new, device, host):
    monkeypatch.chdir(tmp_path)
    baseline, kernel, symbol = in_two_units(tmp_path)
    assert [unit.main.name for unit in baseline.other_units_of_program] == ["two.hip"]
    builder, candidate = SourceBuilder("gfx942"), baseline.with_text(SHARED.replace(old, new).encode())
    found = device_difference(baseline, candidate, builder, kernel, symbol), host_difference(baseline, candidate, builder)
    for said, expected in zip(found, (device, host), strict=True):
        assert said is None if expected is None else expected in said, said


def test_without_a_cage_a_candidate_in_a_header_gives_the_same_machine_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    baseline, _, _ = in_two_units(tmp_path)
    candidate = baseline.with_text(SHARED.replace("*= 2", "*= 4").encode())
    caged, trusted = (SourceBuilder("gfx942", view=View(trusted=trust)) for trust in (False, True))
    assert (
        contents_by_symbol(caged.code_object(candidate))
        == contents_by_symbol(trusted.code_object(candidate))
        != contents_by_symbol(trusted.code_object(baseline))
    )
    for unit in (candidate, *candidate.other_units_of_program):
        assert host_sections(caged.host(unit)) == host_sections(trusted.host(unit))


def test_a_unit_that_compiles_the_kernel_differently_is_not_judged_by_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    baseline, kernel, symbol = in_two_units(tmp_path, "-DWIDTH=2")
    candidate = baseline.with_text(SHARED.replace("*= 2", "*= 4").encode())
    said = device_difference(baseline, candidate, SourceBuilder("gfx942"), kernel, symbol)
    assert said == "in two.hip: it compiles to different machine code there than in one.hip, which is judged"


def test_a_journal_says_how_to_read_the_source_again(project):
    (project / "src" / "plain.c").write_text("int plain;\n")
    build = (
        f"{COMMAND} -c src/main.hip && {COMMAND} -c src/fill.hip && gcc -c src/plain.c && hipcc main.o fill.o plain.o -o app"
    )
    build_target = find_build_target(("./app",), None, build)
    settings = SourceSettings.model_validate_json(settings_of(build_target).model_dump_json())
    read, again = build_target.read(b"text"), reader_of(settings, build_target.source)(b"text")
    assert vars(read) == vars(again) and [unit.main.name for unit in read.units] == ["fill.hip", "plain.c"]
    assert list(read.foreign) == [project / "src" / "plain.c"] * 2
    assert [one.main.name for one in read.other_units] == ["fill.hip"]


def test_debug_information_names_the_files_of_a_program(project):
    (project / "Makefile").unlink()
    subprocess.run(f"{COMMAND} -g src/main.hip src/fill.hip -o program".split(), check=True)
    build_target = find_build_target(("./program",), None, None)
    assert build_target.source == project / "include" / "rows.h"
    assert {command.sources[0].name for command in build_target.build.units} == {"main.hip", "fill.hip"}


@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
def test_a_cmake_project_needs_no_build_to_be_named(project, generator):
    (project / "Makefile").unlink()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(rows CXX)\nset(CMAKE_EXPORT_COMPILE_COMMANDS ON)\n"
        "set_source_files_properties(src/main.hip src/fill.hip PROPERTIES LANGUAGE CXX)\n"
        "add_library(fill STATIC src/fill.hip)\nadd_executable(program src/main.hip)\ntarget_link_libraries(program fill)\n"
    )
    command = ["cmake", "-G", generator, "-S", ".", "-B", "made", "-DCMAKE_CXX_COMPILER=hipcc", "-DCMAKE_CXX_FLAGS=-nogpuinc"]
    subprocess.run(command, check=True, capture_output=True)
    build_target = find_build_target(("made/program", "1"), None, None)
    assert (build_target.source, build_target.found_by) == (project / "include" / "rows.h", "compile_commands.json")
    assert build_target.unit_command.sources == (project / "src" / "main.hip",) and build_target.arguments == ("1",)
    assert [command.output.name for command in build_target.build.commands] == [
        "main.hip.o",
        "fill.hip.o",
        "libfill.a",
        "program",
    ]


@pytest.mark.slow
def test_a_template_that_two_files_launch_is_judged_once_for_both(project, rocm_perf, native_dir):
    header, kernels = HEADER.split("// ends[k]")
    header = header.replace(
        "__global__ void sum_rows(const float* in", "template <int N> __global__ void sum_rows(const float* in"
    )
    more = "void again(float* in, float* sums, int rows, int columns) { sum_rows<64><<<2, 64>>>(in, sums, rows, columns); }\n"
    launch = "static_cast<float*>(device_numbers), static_cast<float*>(device_sums), kRows, kColumns);"
    main = MAIN.replace("void fill(", f"// ends[k]{kernels}void again(float*, float*, int, int);\nvoid fill(", 1)
    main = main.replace("sum_rows<<<2, 64>>>(" + launch, "sum_rows<64><<<2, 64>>>(" + launch + " again(" + launch)
    more += "template __global__ void sum_rows<32>(const float*, float*, int, int);\n"
    project_in(
        project, **{"include/rows.h": header, "src/main.hip": main, "src/again.hip": '#include "../include/rows.h"\n' + more}
    )
    (project / "candidate.h").write_text(header.replace(LOOP, "#pragma unroll 4\n  " + LOOP))
    build = f"{COMMAND} src/main.hip src/fill.hip src/again.hip -o program"
    options = ["--device", "gfx942", "--build", build, "--max-regression", "vgpr=0.5,dram=0.2", "--json", "--seed", "5"]
    ran = rocm_perf("gate", *options, "include/rows.h", "candidate.h", "./program")
    verdict = json.loads(ran.stdout)
    assert ran.returncode == 0 and verdict["accepted"], (verdict, ran.stderr)
    assert verdict["kernel"].startswith("void sum_rows<64>(")
    unproven = next(step for step in verdict["steps"] if step["step"] == "equivalence")["evidence"]["unproven"]
    assert [one for one in unproven if one.startswith("`void sum_rows<32>(") and one.endswith("and not launched)")], unproven
    (project / "candidate.h").write_text(header.replace("sums[row] = sum;", "sums[row] = sum + N;"))
    ran = rocm_perf("gate", *options, "-k", "sum_rows<64>", "include/rows.h", "candidate.h", "./program")
    rejected = [step for step in json.loads(ran.stdout)["steps"] if step["outcome"] == "rejected"]
    assert ran.returncode == 45 and [step["step"] for step in rejected] == ["equivalence"], (rejected, ran.stderr)
    ran = rocm_perf("gate", *options, "-k", "sum_rows<65>", "include/rows.h", "candidate.h", "./program")
    assert ran.returncode == 2 and "sum_rows<65>" in ran.stderr and "sum_rows<64>" in ran.stderr, ran.stderr


@pytest.mark.parametrize("own", ["static {}\n", "namespace {{ {} }}\n"])
def test_a_kernel_of_the_same_name_elsewhere_is_not_taken_for_it(project, native_dir, own):
    """Each belongs to its unit: dispatches captured under the name may be from either kernel, or from both alternately."""
    kernel = own.format("__global__ void fill_all(float* x) { x[index()] = NUMBER; }")
    launch = "void HOST() { void* x; hipMalloc(&x, 256); fill_all<<<1, 64>>>(static_cast<float*>(x)); }\n"
    text = HEADER.split("// sums[row]")[0] + kernel + launch
    (project / "src" / "one.hip").write_text(text.replace("NUMBER", "1").replace("HOST", "one"))
    (project / "src" / "two.hip").write_text(text.replace("NUMBER", "2").replace("HOST", "two"))
    calls = "void one(); void two();\nint main() { one(); two(); }\n"
    (project / "src" / "main.hip").write_text(calls)
    build = f"{COMMAND} src/main.hip src/one.hip src/two.hip -o program"
    subprocess.run(build.split(), check=True)
    captures = []
    for number in (0, 1):
        (project / str(number)).mkdir()
        captures.append(capture([str(project / "program")], "fill_all", number, project / str(number), device="gfx942"))
    builder = SourceBuilder("gfx942")
    one, two = (find_build_target(("./program",), project / "src" / f"{name}.hip", build).read() for name in ("one", "two"))
    assert unit_of(one, captures[:1], builder) is one and unit_of(two, captures[1:], builder) is two
    for source, wrong in ((one, captures), (two, captures), (one, captures[1:]), (two, captures[:1])):
        with pytest.raises(NoCaptureError, match="does not come only from (one|two).hip"):
            unit_of(source, wrong, builder)


@pytest.mark.parametrize(
    "build, source, told",
    [
        (f"{COMMAND} src/fill.hip -o program", "src/main.hip", "not part of what the build compiles (fill.hip)"),
        (
            f"{COMMAND} -c src/main.hip -o k.o && {COMMAND} -shared k.o -o libk.so && {COMMAND} src/fill.hip libk.so -o app",
            "src/main.hip",
            "is compiled into libk.so, not into the program",
        ),
        (
            f"{COMMAND} --genco src/main.hip -o k.hsaco && {COMMAND} src/fill.hip -o program",
            "src/main.hip",
            "is compiled into k.hsaco, a code object for hipModuleLoad, which cannot be judged yet",
        ),
        (
            f"{COMMAND} -c src/main.hip && g++ -include include/none.h -x c++ -c src/fill.hip && hipcc main.o fill.o -o app",
            "include/none.h",
            "which g++ does not compile as HIP",
        ),
        (None, "include/rows.h", "rows.h is a header, and it is not known which file includes it"),
    ],
)
def test_a_kernel_that_cannot_be_changed_is_reported(project, build, source, told):
    (project / "Makefile").unlink()
    (project / "include" / "none.h").write_text("#pragma once\n")
    with pytest.raises((NoSourceError, SourceError)) as error:
        find_build_target(("./program",), Path(source), build)
    assert told in error.value.problem and error.value.hint


def test_outputs_of_a_file_outside_of_the_program_are_known(project):
    code_object = f"{COMMAND} --genco src/main.hip -o k.hsaco"
    library = f"{COMMAND} -shared -fPIC src/main.hip -o libk.so"
    build = f"{code_object} && {library} && {COMMAND} src/main.hip src/fill.hip -o program"
    build_target = find_build_target(("./program",), Path("include/rows.h"), build)
    assert build_target.other_products.names == ("libk.so",)
    assert [path.name for path in build_target.build.code_objects_of(build_target.source)] == ["k.hsaco"]
    assert other_products(build_target.build, project / "src" / "fill.hip").names == ()
    assert build_target.build.code_objects_of(project / "src" / "fill.hip") == []


def test_headers_with_kernels_are_named_where_there_are_several(project):
    (project / "include" / "more.h").write_text("__attribute__((global)) void more() {}\n")
    (project / "src" / "main.hip").write_text('#include "../include/more.h"\n' + MAIN)
    with pytest.raises(NoSourceError) as error:
        find_build_target(("./program",), None, "make")
    assert "2 sources with kernels" in error.value.problem and "more.h" in error.value.problem
    assert "--source" in error.value.hint


@pytest.mark.parametrize(
    "build, told",
    [
        (f"{COMMAND} src/main.hip -o program", "undefined reference to `fill\\(float"),
        (f"{COMMAND} src/main.hip src/fill.hip src/again.hip -o program", "multiple definition of|duplicate symbol"),
        (f"{COMMAND} src/main.hip src/fill.hip -lnone -o program", "-lnone"),
    ],
)
def test_messages_of_the_linker_are_shown(project, build, told):
    (project / "src" / "again.hip").write_text(FILL)
    build_target = find_build_target(("./program",), Path("include/rows.h"), build)
    with pytest.raises(RocmPerfError, match=told) as error:
        ProgramBuilder(build_target.build, "gfx942", project / "kept", CageLimits()).make(
            build_target.read(), project / "program"
        )
    assert "linker command failed" not in error.value.problem


def test_relocatable_device_code_is_refused_with_the_reason(project):
    build = f"{COMMAND} -fgpu-rdc src/main.hip src/fill.hip -o program"
    build_target = find_build_target(("./program",), None, build)
    with pytest.raises(SourceError, match="-fgpu-rdc: the device code of all units becomes one"):
        SourceBuilder("gfx942").code_object(build_target.read())
