"""Small projects of several files whose kernel gains from one wave per row, with launches and kernel in various files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

COMMAND = "hipcc -O2 -nogpuinc --offload-arch=gfx942"

# The part of HIP that the projects need, so that compiling them does not take seconds.
_HIP = """\
#pragma once
extern "C" {
typedef struct ihipStream_t* hipStream_t;
typedef enum { hipSuccess } hipError_t;
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, unsigned long lds,
                           hipStream_t stream);
unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long lds = 0, hipStream_t stream = nullptr);
unsigned __hipPopCallConfiguration(dim3* grid, dim3* block, unsigned long* lds, hipStream_t* stream);
int hipMalloc(void** address, unsigned long size);
int hipMemcpy(void* target, const void* source, unsigned long size, int kind);
int printf(const char* format, ...);
}
constexpr int hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2;
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
struct Index {
  unsigned x;
};
#define threadIdx (Index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (Index{__builtin_amdgcn_workgroup_id_x()})
#define blockDim (Index{__builtin_amdgcn_workgroup_size_x()})
__device__ inline int __shfl_xor(int value, int step) {
  return __builtin_amdgcn_ds_bpermute((__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)) ^ step) * 4, value);
}
"""
KERNEL = """\
__global__ void sums(const int* in, int* out, int rows, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int sum = 0;
  for (int i = 0; i < width; ++i) sum += in[row * width + i];
  out[row] = sum;
}
"""
_DECLARED = "__global__ void sums(const int* in, int* out, int rows, int width);\n"
_MAIN = """\
constexpr int kRows = 160, kWidth = 192;
int main() {
  static int numbers[kRows * kWidth], found[kRows];
  for (int i = 0; i < kRows * kWidth; ++i) numbers[i] = i * 37 % 101;
  void *in, *out;
  if (hipMalloc(&in, sizeof numbers) || hipMalloc(&out, sizeof found)) return 1;
  if (hipMemcpy(in, numbers, sizeof numbers, hipMemcpyHostToDevice)) return 1;
  run((int*)in, (int*)out, kRows, kWidth);
  if (hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost)) return 1;
  long sum = 0;
  for (int i = 0; i < kRows; ++i) sum += long(found[i]) * (i + 1);
  printf("%ld\\n", sum);
}
"""
LAUNCH = "sums<<<(rows + 63) / 64, 64>>>(in, out, rows, width);"
AFTER = "sums<<<(rows + 3) / 4, 256>>>(in, out, rows, width);"
_RUN = "void run(const int* in, int* out, int rows, int width)"
_INCLUDE = '#include "hip.h"\n'


def _run(launch: str = LAUNCH) -> str:
    return f"{_RUN} {{ {launch} }}\n"


@dataclass(frozen=True)
class Project:
    """files: text by name. build: for --build, None if it is found. prepare: commands to run first. program: its path. source:
    the file with the kernel. launching: other files that launch it. beside: other programs built from it.
    """

    files: Mapping[str, str]
    source: str
    launching: tuple[str, ...] = ()
    build: str | None = None
    prepare: tuple[str, ...] = ()
    program: str = "./program"
    beside: tuple[str, ...] = ()

    def written_to(self, folder: Path) -> Path:
        for name, text in {"hip.h": _HIP, **self.files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder


# A launch of the first half of the rows, before all of them are launched elsewhere.
_HALF = """\
  const int rows = kRows / 2;
  int *const first = (int*)in, *const sums_of_first = (int*)out;
  sums<<<(rows + 63) / 64, 64>>>(first, sums_of_first, rows, kWidth);
  run("""
_APART = {
    "kernel.hip": _INCLUDE + KERNEL,
    "run.hip": _INCLUDE + _DECLARED + _run(),
    "main.hip": f"{_INCLUDE}{_RUN};\n{_MAIN}",
}
_TWO_LAUNCHES = {
    **_APART,
    "main.hip": _INCLUDE + _DECLARED + f"{_RUN};\n" + _MAIN.replace("  run(", _HALF),
}
_BESIDE = {
    "kernel.hip": _INCLUDE + KERNEL + _run(),
    "main.hip": f"{_INCLUDE}{_RUN};\n{_MAIN}",
}
_IN_HEADER = {"kernel.h": f"#pragma once\n{_INCLUDE}{KERNEL}", "main.hip": f'#include "kernel.h"\n{_run()}{_MAIN}'}
_ALL_IN_HEADER = {
    "kernel.h": f"#pragma once\n{_INCLUDE}{KERNEL}inline {_run()}",
    "main.hip": f'#include "kernel.h"\n{_MAIN}',
}
_TEMPLATE = "template <int N> " + KERNEL
_IN_TWO_UNITS = {
    "kernel.h": f"#pragma once\n{_INCLUDE}{_TEMPLATE}",
    "run.hip": f'#include "kernel.h"\n{_run(LAUNCH.replace("sums<<<", "sums<1><<<"))}',
    "main.hip": f'#include "kernel.h"\n{_RUN};\n' + _MAIN.replace("  run(", _HALF.replace("sums<<<", "sums<1><<<")),
}
_CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(rows CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
file(GLOB SOURCES ${CMAKE_SOURCE_DIR}/*.hip)
set_source_files_properties(${SOURCES} PROPERTIES LANGUAGE CXX)
"""
_MAKE = f"""\
CXX = {COMMAND}
program: main.o run.o kernel.o
	$(CXX) $^ -o $@
%.o: %.hip hip.h
	$(CXX) -c $< -o $@
"""


# Headers, kernels and the program in separate folders, and a header above them all.
_IN_FOLDERS = {
    "project/include/rows.h": f'#pragma once\n#include "hip.h"\n{_DECLARED}{_RUN};\n',
    "project/kernels/kernel.hip": '#include "rows.h"\n' + KERNEL,
    "project/kernels/run.hip": '#include "rows.h"\n' + _run(),
    "project/app/main.hip": '#include "rows.h"\n' + _MAIN,
}
_INCLUDING = "include_directories(include ${CMAKE_SOURCE_DIR}/..)\n"
_TOP_MAKEFILE = f"""\
export CXX = {COMMAND}
export CXXFLAGS = -I$(CURDIR)/include -I$(CURDIR)/..
program: app/main.o kernels/librows.a
	$(CXX) $^ -o $@
app/main.o: app/main.hip
	$(CXX) $(CXXFLAGS) -c $< -o $@
kernels/librows.a: FORCE
	$(MAKE) -C kernels librows.a
FORCE:
"""
_KERNELS_MAKEFILE = """\
objects = $(patsubst %.hip,built/%.o,$(wildcard *.hip))
librows.a: $(objects)
	$(AR) rcs $@ $^
built/%.o: %.hip
	@mkdir -p built
	$(CXX) $(CXXFLAGS) -c $< -o $@
"""
_OTHER = {"other.hip": _IN_HEADER["main.hip"].replace("kRows = 160", "kRows = 96")}


def _cmake(
    rest: str,
    generator: str,
    files: Mapping[str, str],
    source: str,
    launching: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
    *,
    start: str = _CMAKE,
    at: str = ".",
    given: str = "",
) -> Project:
    """start: that of the CMakeLists.txt. at: its folder; the build folder is beside it. given: definitions for its first
    run."""
    flags = COMMAND.removeprefix("hipcc ")
    given = given or f"-DCMAKE_CXX_COMPILER=hipcc -DCMAKE_CXX_FLAGS='{flags}'"
    configure = f"cmake -G '{generator}' -S {at} -B made {given}"
    more = {f"{at}/CMakeLists.txt": start + rest}
    made = (configure, "cmake --build made")
    return Project({**files, **more}, source, launching, prepare=made, program="./made/program", beside=beside)


PROJECTS: dict[str, Callable[[], Project]] = {
    "sources, launch apart": lambda: Project(
        _APART, "kernel.hip", ("run.hip",), f"{COMMAND} main.hip run.hip kernel.hip -o program"
    ),
    "sources, two launching": lambda: Project(
        _TWO_LAUNCHES, "kernel.hip", ("main.hip", "run.hip"), f"{COMMAND} main.hip run.hip kernel.hip -o program"
    ),
    "sources, launch beside": lambda: Project(_BESIDE, "kernel.hip", (), f"{COMMAND} main.hip kernel.hip -o program"),
    "header, launch in the source": lambda: Project(_IN_HEADER, "kernel.h", ("main.hip",), f"{COMMAND} main.hip -o program"),
    "header, launch in it": lambda: Project(_ALL_IN_HEADER, "kernel.h", (), f"{COMMAND} main.hip -o program"),
    "header, in two units": lambda: Project(
        _IN_TWO_UNITS, "kernel.h", ("main.hip", "run.hip"), f"{COMMAND} main.hip run.hip -o program"
    ),
    "cmake, one target": lambda: _cmake(
        "add_executable(program main.hip run.hip kernel.hip)\n", "Unix Makefiles", _APART, "kernel.hip", ("run.hip",)
    ),
    "cmake, a library": lambda: _cmake(
        "add_library(rows STATIC kernel.hip)\nadd_executable(program main.hip)\ntarget_link_libraries(program rows)\n",
        "Ninja",
        _BESIDE,
        "kernel.hip",
    ),
    "cmake, a header": lambda: _cmake(
        "add_executable(program main.hip)\n", "Unix Makefiles", _IN_HEADER, "kernel.h", ("main.hip",)
    ),
    "cmake, objects in folders": lambda: _cmake(
        "file(GLOB_RECURSE SOURCES *.hip)\nset_source_files_properties(${SOURCES} PROPERTIES LANGUAGE CXX)\n"
        + _INCLUDING
        + "add_library(rows OBJECT kernels/kernel.hip kernels/run.hip)\nadd_executable(program app/main.hip)\n"
        "target_link_libraries(program rows)\n",
        "Ninja",
        _IN_FOLDERS,
        "project/kernels/kernel.hip",
        ("project/kernels/run.hip",),
        at="project",
    ),
    "cmake, two programs": lambda: _cmake(
        "add_executable(program main.hip)\nadd_executable(other other.hip)\n",
        "Unix Makefiles",
        {**_IN_HEADER, **_OTHER},
        "kernel.h",
        ("main.hip", "other.hip"),
        ("./made/other",),
    ),
    "cmake, language HIP": lambda: _cmake(
        "add_library(rows STATIC kernels/kernel.hip kernels/run.hip)\nadd_executable(program app/main.hip)\n"
        "target_include_directories(rows PUBLIC include ..)\ntarget_link_libraries(program rows)\n",
        "Ninja",
        _IN_FOLDERS,
        "project/kernels/kernel.hip",
        ("project/kernels/run.hip",),
        start="cmake_minimum_required(VERSION 3.21)\nproject(rows LANGUAGES HIP)\n",
        at="project",
        given="-DCMAKE_HIP_ARCHITECTURES=gfx942 -DCMAKE_HIP_FLAGS='-O2 -nogpuinc'",
    ),
    "make, objects": lambda: Project({**_APART, "Makefile": _MAKE}, "kernel.hip", ("run.hip",), prepare=("make -s",)),
    "make, one rule": lambda: Project(
        {**_IN_HEADER, "Makefile": f"program: main.hip kernel.h\n\t{COMMAND} main.hip -o $@\n"},
        "kernel.h",
        ("main.hip",),
        build="make",
        prepare=("make -s",),
    ),
    "make, an archive": lambda: Project(
        {
            **_BESIDE,
            "Makefile": f"CXX = {COMMAND}\nprogram: main.o librows.a\n\t$(CXX) $^ -o $@\n"
            "librows.a: kernel.o\n\tar rcs $@ $^\n%.o: %.hip\n\t$(CXX) -c $< -o $@\n",
        },
        "kernel.hip",
        build="make",
        prepare=("make -s",),
    ),
    "make, in folders": lambda: Project(
        {**_IN_FOLDERS, "project/Makefile": _TOP_MAKEFILE, "project/kernels/Makefile": _KERNELS_MAKEFILE},
        "project/kernels/kernel.hip",
        ("project/kernels/run.hip",),
        prepare=("make -s -C project program",),
        program="./project/program",
    ),
}
