"""A program without code for the device gets one sentence, whichever command ran it and however the code would be loaded."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import needs
from hip_compiler import compile_hip
from rocm_perf_lab.code_object import code_objects_in, targets_in
from rocm_perf_lab.collect import device_code
from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import WrongTargetError

KERNEL = "#include <hip/hip_runtime.h>\n__global__ void k(float* c) { c[threadIdx.x] = 1; }\n"
LAUNCH = "float* c; (void)hipMalloc(&c, 256); k<<<1, 64>>>(c); return hipDeviceSynchronize();"
PROGRAM = KERNEL + f"int main() {{ {LAUNCH} }}\n"
LIBRARY = KERNEL + f'extern "C" int go() {{ {LAUNCH} }}\n'
CALLER = KERNEL.replace("void k(", "void mine(") + (
    'extern "C" int go();\nint main(int n, char**) { float* c; (void)hipMalloc(&c, 256); mine<<<1, 64>>>(c);'
    " return hipDeviceSynchronize() + (n > 1 ? go() : 0); }\n"
)
LOADER = r"""
#include <dlfcn.h>
int main(int, char** v) { return reinterpret_cast<int (*)()>(dlsym(dlopen(v[1], RTLD_NOW), "go"))(); }
"""
SOFTWARE = Device(False, "gfx942", "software gfx942", {}, (), (), ("sramecc+", "xnack-"))
REMEDY = "compile with --offload-arch=gfx942"


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """build("name", source, *flags) -> the file."""
    folder = tmp_path_factory.mktemp("built")

    def built(name: str, source: str, *flags: str) -> Path:
        (folder / f"{name}.hip").write_text(source)
        if not (folder / name).exists():
            compile_hip("-O1", f"{name}.hip", "-o", name, *flags, cwd=folder)
        return folder / name

    return built


@pytest.fixture(scope="module")
def other(build) -> Path:
    return build("other", PROGRAM, "--offload-arch=gfx906")


@pytest.mark.parametrize(
    "flags",
    [
        ["--offload-arch=gfx942"],
        ["--offload-arch=gfx906", "--offload-arch=gfx90a:xnack-"],
        ["--offload-arch=gfx1100", "--offload-compress"],
        ["--offload-arch=gfx9-4-generic"],
    ],
)
def test_targets_are_those_of_the_code_objects(build, flags):
    """The other reader unpacks whole bundles, compressed ones with LLVM's own tool."""
    program = build(f"of_{len(flags)}_{flags[-1].strip('-').replace(':', '')}", PROGRAM, *flags)
    assert targets_in(program) == {target for target, _ in code_objects_in(program)} != set()


def test_files_without_device_code_have_no_targets(tmp_path):
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"\x7fELF" + bytes(range(256)))
    for path in (Path("/bin/sh"), damaged, tmp_path, tmp_path / "missing"):
        assert targets_in(path) == frozenset()


@pytest.mark.parametrize(
    ("target", "does"),
    [("gfx942", True), ("gfx942:xnack-", True), ("gfx942:sramecc+:xnack-", True), ("gfx942:xnack+", False), ("gfx90a", False),
     ("gfx9-4-generic", True), ("gfx9-generic", False), ("amdgcnspirv", True)],
)  # fmt: skip
def test_which_code_fits(target, does):
    assert device_code.fits(target, SOFTWARE) is does


@pytest.mark.parametrize("words", [["run"], ["profile"], ["isolate", "--kernel", "k"]])
def test_missing_device_code_is_reported_before_the_program_runs(rocm_perf, other, words):
    done = rocm_perf(*words, "--device", "gfx942", other)
    assert (done.returncode, done.stdout) == (53, "")
    assert done.stderr.splitlines()[-1] == (
        f"rocm-perf: error: {other} has code for gfx906 only, and the device is gfx942; {REMEDY}"
    )


def test_autotune_reports_it_for_a_configuration(rocm_perf, other, tmp_path):
    (tmp_path / "space.json").write_text('{"parameters": {"N": [1]}}')
    done = rocm_perf("autotune", "--device", "gfx942", "--space", "space.json", "--cmd-template", f"{other} {{N}}", "--json")
    assert done.returncode == 47 and "has code for gfx906 only" in done.stderr, done.stderr


def test_a_linked_library_is_searched_too(rocm_perf, build):
    library = build("libgo.so", LIBRARY, "-shared", "-fPIC", "--offload-arch=gfx90a")
    caller = build("caller", CALLER, "--offload-arch=gfx942", f"-L{library.parent}", "-lgo", f"-Wl,-rpath,{library.parent}")
    assert library in device_code.linked_libraries(caller, {})
    unused = rocm_perf("run", "--device", "gfx942", caller)
    assert unused.returncode == 0 and f"{library} has code for gfx90a only: its kernels cannot run" in unused.stderr
    used = rocm_perf("run", "--device", "gfx942", caller, "1")
    assert used.returncode == 53 and f"error: {library} has code for gfx90a only" in used.stderr, used.stderr
    assert used.stderr.rstrip().endswith(f"{REMEDY}, or run it with --device gfx90a")


@pytest.mark.parametrize("command", ["run", "profile"])
def test_a_library_that_is_loaded_later_is_reported_too(rocm_perf, build, command):
    library = build("libgo.so", LIBRARY, "-shared", "-fPIC", "--offload-arch=gfx90a")
    loader = build("loader", LOADER, "--offload-arch=gfx942", "-ldl")
    done = rocm_perf(command, "--device", "gfx942", loader, library)
    assert done.returncode == 53, done.stderr
    assert f"{loader} runs or loads something" in done.stderr and "without code for gfx942" in done.stderr
    assert done.stderr.rstrip().endswith(REMEDY)


def test_a_program_that_fails_for_another_reason_gets_no_such_sentence(rocm_perf, build):
    program = build("crashes", PROGRAM.replace("return hip", "*(volatile int*)8 = 1; return hip"), "--offload-arch=gfx942")
    assert rocm_perf("profile", "--device", "gfx942", program).returncode == 32


@pytest.fixture
def prepared(repository, tmp_path):
    """prepared(LINE, gpu=False, **environment): standard output of a shell line in the environment that ./dev makes.

    gpu: whether the machine has the driver's device, which a file stands in for here."""
    text = (repository / "env" / "common.sh").read_text()
    function = text[text.index("name_default_target() {") :].partition("\n}\n")[0] + "\n}\n"
    driver = tmp_path / "kfd"
    assert function.count("/dev/kfd") == 1
    function = function.replace("/dev/kfd", str(driver))

    def run(line: str, gpu: bool = False, **environment: str) -> str:
        driver.touch() if gpu else driver.unlink(missing_ok=True)
        script = f"repo={repository}\n{function}name_default_target\n{line}"
        own = {name: value for name, value in os.environ.items() if name not in ("HCC_AMDGPU_TARGET", "ROCM_TARGET_LST")}
        done = subprocess.run(["bash", "-c", script], env=own | environment, capture_output=True, text=True, check=True)
        return done.stdout

    return run


def test_in_dev_hipcc_builds_for_the_software_device_unless_told_otherwise(prepared, hipcc, tmp_path):
    (tmp_path / "app.hip").write_text(PROGRAM)
    for options, variables, target in [
        ("", {}, "gfx942"),
        ("--offload-arch=gfx90a", {}, "gfx90a"),
        ("", {"HCC_AMDGPU_TARGET": "gfx1100"}, "gfx1100"),
    ]:
        prepared(f"{hipcc} {options} {tmp_path}/app.hip -o {tmp_path}/app", **variables)
        assert targets_in(tmp_path / "app") == {target}


def test_in_dev_cmake_builds_for_the_software_device(prepared):
    """For its language HIP, CMake asks this tool for the GPUs [CMakeDetermineHIPCompiler.cmake]."""
    assert prepared(needs.program("rocm_agent_enumerator")).split() == ["gfx942"]


def test_on_a_machine_with_a_gpu_the_tools_choose_the_target(prepared):
    told = "echo ${HCC_AMDGPU_TARGET:-unset} ${ROCM_TARGET_LST:-unset}"
    assert prepared(told, gpu=True).split() == ["unset", "unset"]
    assert prepared(told).split()[0] == "gfx942"


def test_a_gpu_that_is_relabelled_or_one_of_several(other):
    """ROCr then accepts code that does not match the driver's name for the GPU."""
    gpu = Device(True, "gfx942", "gfx942", {}, (), ())
    command = resolve([str(other)])
    with pytest.raises(WrongTargetError), device_code.checking_device_code(command, {}, gpu):
        pass
    with device_code.checking_device_code(command, {"HSA_OVERRIDE_GFX_VERSION": "9.0.6"}, gpu):
        pass
    with device_code.checking_device_code(command, {}, replace(gpu, further_targets=("gfx906",))):
        pass
