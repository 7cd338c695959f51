"""A kernel's source text in a program is found, however it got there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.gate.application.text_in_program import holds_text

BODY = """{
  const int thread = threadIdx.x;
  out[thread] = 2 * in[thread];
}
"""
KERNEL = "__global__ void twice(const int* in, int* out) " + BODY
PROGRAMS = {
    "compiled alone": ("int main() { return 0; }", False),
    "a comment": (f"/* {KERNEL} */ int main() {{ return 0; }}", False),
    "incbin": ('asm(".data\\n.incbin \\"kernel.h\\"\\n"); int main() { return 0; }', True),
    "a raw string": (f'extern const char text[] = R"({KERNEL})"; int main() {{ return 0; }}', True),
    "a macro": (f"#define TEXT(...) #__VA_ARGS__\nextern const char text[] = TEXT({KERNEL}); int main() {{ return 0; }}", True),
    "embed": ('extern const unsigned char text[] = {\n#embed "kernel.h"\n}; int main() { return 0; }', True),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_kernel_text_that_a_program_holds(name: str, tmp_path: Path, hipcc: str) -> None:
    text, held = PROGRAMS[name]
    (tmp_path / "kernel.h").write_text(KERNEL)
    (tmp_path / "main.cpp").write_text(text)
    command = [hipcc, "-g", "-x", "c++", "-Wno-everything", "-I", tmp_path, "main.cpp", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert holds_text(tmp_path / "program", BODY.encode()) == held


def test_a_short_text_is_not_searched_for(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n{ out[0] = 1; }\n")
    assert not holds_text(tmp_path / "script", b"{ out[0] = 1; }")


def test_a_script_is_searched_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n" + KERNEL)
    assert holds_text(tmp_path / "script", BODY.encode())


def test_the_programs_own_libraries_are_searched(tmp_path: Path, hipcc: str) -> None:
    (tmp_path / "library.cpp").write_text(f'extern const char text[] = R"({KERNEL})";')
    (tmp_path / "main.cpp").write_text("extern const char text[]; int main() { return text[0]; }")
    library = [hipcc, "-x", "c++", "-shared", "-fPIC", "library.cpp", "-o", "libheld.so"]
    program = [hipcc, "-x", "c++", "main.cpp", "-x", "none", "libheld.so", f"-Wl,-rpath,{tmp_path}", "-o", "program"]
    for command in (library, program):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert holds_text(tmp_path / "program", BODY.encode())
