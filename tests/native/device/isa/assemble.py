"""Assembles batches of instructions with clang, one process per batch."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass

CANDIDATES = ("/opt/rocm/llvm/bin/clang", "clang", "amdclang", "clang-22", "clang-21", "clang-20", "clang-19")
ALIGNMENT = 8
_NOT_IN_TARGET = re.compile("instruction not supported on this GPU|variant of this instruction is not supported")


def find_clang() -> str | None:
    """A clang that can assemble for gfx942, or None."""
    for candidate in CANDIDATES:
        path = shutil.which(candidate)
        if path and _assemble(path, "s_endpgm").returncode == 0:
            return path
    return None


def _assemble(clang: str, source: str, target: str = "gfx942") -> subprocess.CompletedProcess[bytes]:
    command = [
        clang,
        "-target",
        "amdgcn-amd-amdhsa",
        f"-mcpu={target}",
        "-c",
        "-x",
        "assembler",
        "-",
        "-o",
        "-",
        "-Wa,--fatal-warnings",
    ]
    # clang writes messages word by word: through a pipe that would take most of the time.
    with tempfile.TemporaryFile() as messages:
        done = subprocess.run(command, input=source.encode(), stdout=subprocess.PIPE, stderr=messages)
        messages.seek(0)
        return subprocess.CompletedProcess(command, done.returncode, done.stdout, messages.read())


@dataclass(frozen=True)
class Code:
    """Machine code of snippets, each terminated by s_endpgm."""

    code: bytes
    entry: list[int]  # offset of each snippet in the code


class Assembler:
    def __init__(self, clang: str, target: str = "gfx942"):
        self.clang = clang
        self.target = target

    def assemble(self, snippets: list[str]) -> Code:
        """Each of `snippets` is one or more lines of assembly. Raises AssertionError with the assembler's message."""
        result = _assemble(self.clang, source_of(snippets), self.target)
        assert result.returncode == 0, result.stderr.decode()
        return code_of(result.stdout)

    def accepted(self, lines: list[str]) -> list[str]:
        """The ones among the single `lines` that the assembler accepts."""
        # A message takes as long as many instructions, so instructions that the target lacks altogether get only one.
        first = {line.split()[0]: line for line in reversed(lines)}
        lacking = {line.split()[0] for line, why in self._refused([*first.values()]).items() if _NOT_IN_TARGET.search(why)}
        lines = [line for line in lines if line.split()[0] not in lacking]
        refused = self._refused(lines)
        return [line for line in lines if line not in refused]

    def _refused(self, lines: list[str]) -> dict[str, str]:
        """The first message for each of the `lines` that the assembler refuses."""
        result = _assemble(self.clang, "".join(f"{line}\n" for line in lines), self.target)
        messages = re.findall(r"<stdin>:(\d+):\d+: error: (.*)", result.stderr.decode())
        assert messages or result.returncode == 0, result.stderr.decode()
        return {lines[int(number) - 1]: text for number, text in reversed(messages)}


def source_of(snippets: list[str]) -> str:
    parts = [".text", "base:"]
    for i, snippet in enumerate(snippets):
        parts += [f".p2align {ALIGNMENT.bit_length() - 1}", f"entry{i}:", snippet, "s_endpgm"]
    parts += ['.section .entries,"",@progbits', *(f".long entry{i} - base" for i in range(len(snippets)))]
    return "\n".join(parts) + "\n"


def sections(elf: bytes) -> dict[str, bytes]:
    """Name -> contents of an ELF64 file's sections."""
    table, size, count, names = *struct.unpack_from("<Q", elf, 0x28), *struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    strings = headers[names][4]

    def name(at: int) -> str:
        return elf[strings + at : elf.index(b"\0", strings + at)].decode()

    return {name(h[0]): elf[h[4] : h[4] + h[5]] for h in headers}


def code_of(elf: bytes) -> Code:
    found = sections(elf)
    entries = found[".entries"]
    return Code(found[".text"], list(struct.unpack(f"<{len(entries) // 4}I", entries)))
