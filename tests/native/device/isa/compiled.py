"""C functions compiled from one source for gfx942 and for this machine, run lane by lane on the same arguments."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from wave import LANES, Batch

import numpy as np
from assemble import Assembler

TYPES = {"i32": "int", "u32": "unsigned", "i64": "long", "u64": "unsigned long", "f32": "float", "f64": "double"}
DTYPES = {"i32": "<u4", "u32": "<u4", "i64": "<u8", "u64": "<u8", "f32": "<u4", "f64": "<u8"}
VGPRS, SCRATCH = 40, 256
STACK_POINTER = 32  # SGPR
FLAGS = ("-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-exceptions")


@dataclass(frozen=True)
class Function:
    """`body` computes a `result` from the arguments a, b, c; types as in TYPES."""

    name: str
    result: str
    arguments: tuple[str, ...]
    body: str

    def source(self, attributes: str) -> str:
        parameters = ", ".join(f"{TYPES[t]} {name}" for t, name in zip(self.arguments, "abc", strict=False))
        return f'extern "C" {attributes} {TYPES[self.result]} {self.name}({parameters}) {{ {self.body} }}\n'

    def host_loop(self) -> str:
        pointers = ", ".join(f"const {TYPES[t]}* {name}" for t, name in zip(self.arguments, "abc", strict=False))
        values = ", ".join(f"{name}[i]" for name in "abc"[: len(self.arguments)])
        return (
            f'extern "C" void run_{self.name}({pointers}, {TYPES[self.result]}* out, long n) '
            f"{{ for (long i = 0; i < n; ++i) out[i] = {self.name}({values}); }}\n"
        )


class CompiledFunctions:
    def __init__(self, assembler: Assembler, functions: list[Function], folder: Path, prelude: str = ""):
        self.functions = {function.name: function for function in functions}
        self._code = self._for_device(assembler, functions, folder, prelude)
        self._library = self._for_host(assembler.clang, functions, folder, prelude)

    @staticmethod
    def _for_device(assembler: Assembler, functions: list[Function], folder: Path, prelude: str):
        source = folder / "device.hip"
        source.write_text(prelude + "".join(f.source("__attribute__((device, used))") for f in functions))
        command = [
            assembler.clang,
            "-x",
            "hip",
            "--offload-device-only",
            "--offload-arch=gfx942",
            "-nogpuinc",
            "-nogpulib",
            "-S",
            "-o",
            "-",
        ]
        text = subprocess.run([*command, *FLAGS, source], check=True, capture_output=True, text=True).stdout
        return assembler.assemble([body_of(text, f.name) for f in functions])

    @staticmethod
    def _for_host(clang: str, functions: list[Function], folder: Path, prelude: str) -> ctypes.CDLL:
        source, library = folder / "host.cpp", folder / "host.so"
        source.write_text(prelude + "".join(f.source("__attribute__((noinline))") + f.host_loop() for f in functions))
        subprocess.run([clang, *FLAGS, "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
        return ctypes.CDLL(str(library))

    def on_host(self, name: str, arguments: list[np.ndarray]) -> np.ndarray:
        out = np.zeros(arguments[0].shape, DTYPES[self.functions[name].result])
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (*arguments, out)]
        getattr(self._library, f"run_{name}")(*pointers, ctypes.c_long(out.size))
        return out

    def on_device(self, probe: Path, arguments: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
        """Results of functions, from their arguments' bits: the same number of values for each, a multiple of 64."""
        waves = next(iter(arguments.values()))[0].size // LANES
        batch = Batch(self._code, waves * len(arguments), vgprs=VGPRS, scratch=SCRATCH)
        batch.input["sgpr"][:, STACK_POINTER] = 0
        for i, (name, values) in enumerate(arguments.items()):
            states = batch.input[i * waves : (i + 1) * waves]
            states["entry"] = self._code.entry[list(self.functions).index(name)]
            words = [value >> shift & 0xFFFFFFFF for value in values for shift in range(0, 8 * value.itemsize, 32)]
            for register, word in enumerate(words):
                states["vgpr"][:, register] = word.reshape(waves, LANES)
        after = batch.run(probe)
        assert not after["faulted"].any(), after["fault"][after["faulted"] != 0][0].decode()
        return {name: self._result(name, after[i * waves : (i + 1) * waves]) for i, name in enumerate(arguments)}

    def _result(self, name: str, states: np.ndarray) -> np.ndarray:
        kind = DTYPES[self.functions[name].result]
        low, high = (states["vgpr"][:, register].reshape(-1).astype("<u8") for register in (0, 1))
        return (low | high << np.uint64(32)).astype(kind) if kind == "<u8" else low.astype(kind)


def body_of(assembly: str, name: str) -> str:
    """The instructions of a function, without its return."""
    start = re.search(rf"^{name}:.*$", assembly, re.MULTILINE)
    end = re.search(r"^\.Lfunc_end\d+:", assembly[start.end() :], re.MULTILINE)
    lines = []
    for line in assembly[start.end() : start.end() + end.start()].splitlines():
        line = line.split(";")[0].strip()
        if line.startswith("s_setpc_b64 s[30:31]"):
            line = "s_endpgm"
        if line and not (line.startswith(".") and not line.startswith(".L")):
            lines.append(line)
    return "\n".join(lines)
