"""Precompiled includes: the code is the same with and without them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize.builders import SourceBuilder
from rocm_perf_lab.optimize.compiler_preambles import PrecompiledPreambles
from slow_variants import every

HIP = b"#include <hip/hip_runtime.h>\n"
KERNEL = b"__global__ void k(float* a) { a[threadIdx.x] = sinf(a[threadIdx.x]); }\nint main() { k<<<1, 64>>>(nullptr); }\n"


@pytest.mark.parametrize("options", every(2, [["-O1", "-g", "-DN=4", "-fgpu-flush-denormals-to-zero"], ["-O3"]]))
def test_the_code_is_the_same_as_without(hipcc, tmp_path, options):
    """Byte by byte, for the device and the host, with templates and macros in the program; debug information lists less."""
    path = tmp_path / "program.hip"
    # A header without an include guard, which shows how often it is read, and by which name.
    (tmp_path / "own.h").write_text(
        "#ifdef TWICE\n#error read twice\n#endif\n#define TWICE\nstatic const char* own = __FILE__;\n"
    )
    head = b"#include <cmath>\n// HIP\n" + HIP + b'#include <vector>\n#include "own.h"\n#include <assert.h>\n'
    path.write_bytes(head + KERNEL + b"""
template <class T> __global__ void scale(T* values, T factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(count > 0);
  if (i < count) values[i] = values[i] * factor + T(__LINE__) + __shfl_xor(values[i], 1);
}
template __global__ void scale<double>(double*, double, int);
std::vector<int> sizes{1, 2, 3, int(sizeof(__FILE__)), own[0]};
""")  # fmt: skip
    source = read(path, ("hipcc", "--offload-arch=gfx942", *options))
    fast, plain, commands = [], [], []
    with_log = SourceBuilder("gfx942", after_build=lambda command, ended: commands.append((list(command), ended.succeeded)))
    without = SourceBuilder("gfx942")
    without._preambles.of = lambda *_: None
    for builder, made in ((with_log, fast), (without, plain)):
        made += [builder.code_object(source), builder.host(source)]
    assert list(map(_loaded, fast)) == list(map(_loaded, plain))
    assert fast == plain or "-g" in options
    assert [any("-include" in word for word in command) and succeeded for command, succeeded in commands] == [True, True]


def _loaded(image: bytes) -> dict[str, bytes]:
    """The sections that a loader maps."""
    file = ELFFile(io.BytesIO(image))
    return {one.name: one.data() for one in file.iter_sections() if one["sh_flags"] & SH_FLAGS.SHF_ALLOC}


def test_compile_errors_are_reported_without_the_precompiled_includes(hipcc, tmp_path):
    path = tmp_path / "program.hip"
    path.write_bytes(HIP + KERNEL)
    source = read(path, ("hipcc", "--offload-arch=gfx942"))
    with pytest.raises(Exception, match=r"program.hip does not compile: .*unknown_name") as caught:
        SourceBuilder("gfx942").code_object(source.with_text(HIP + KERNEL.replace(b"sinf", b"unknown_name")))
    assert "-include" not in caught.value.hint


def test_only_includes_that_save_time_and_change_nothing_are_precompiled(hipcc, tmp_path):
    preambles, path = PrecompiledPreambles(CageLimits(), View()), tmp_path / "program.hip"
    command = ["hipcc", "--offload-arch=gfx942"]
    made = preambles.of(path, HIP + KERNEL, command, tmp_path, ["device"])
    again = preambles.of(path, HIP + b"int other;", command, tmp_path, ["device"])
    assert made is not None and again is not None and made.options == again.options and again.text == b"\nint other;"
    assert re.fullmatch(rf"-include{re.escape(str(made.folder))}/\w+/device\.h", made.options[1])
    for others in (["-include", "x.h"], ["-Xarch_device", "-O3"], ["--offload-arch=gfx90a"]):
        assert preambles.of(path, HIP, [*command, *others], tmp_path) is None
    assert preambles.of(path, b"#include <vector>\n" + KERNEL, command, tmp_path) is None
    assert preambles.of(Path("program.hip"), HIP, command, tmp_path) is None  # __FILE__ would differ in its own headers
    assert preambles.of(path, HIP, ["false", *command[1:]], tmp_path) is None  # a compiler that cannot precompile
    assert PrecompiledPreambles(CageLimits(), View(trusted=True)).of(path, HIP, command, tmp_path) is None
    folder = made.folder
    del preambles, made, again
    assert not Path(folder).exists()
