"""A language model in llama.cpp on the software device: are its tokens the same as on the CPU, and which kernels take the time?

    python benchmarks/language_model.py FOLDER [--device DEVICE] [--types f16 q8_0 ...] [--tokens N] [--seed N] [--json]

Fetches Debian's llama.cpp and its HIP backend, which holds code for gfx90a and gfx1030, into FOLDER and unpacks them there;
nothing is installed. The model has random weights (others/random_model.py, which needs gguf from PyPI); for each type but f16
it is quantised by llama.cpp. It continues a prompt, always with the likeliest token, on the CPU and on the device. Quantised
products round differently in the two backends, and after the first differing token all that follows differs, so the number of
tokens before it is shown. The kernels' times are taken from profiles: one with a single token gives the times for the prompt,
and the additional time of a longer run gives those for the generation.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from others import packages  # noqa: E402
from others.random_model import write_model  # noqa: E402
from others.table import markdown  # noqa: E402

_PACKAGES = ("llama.cpp", "libggml0-backend-hip")
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_PROMPT = "It was a bright cold day in April, and the clocks were striking thirteen."
_SHOWN_KERNELS = 3  # kernels
_ATTEMPTS = 4
_TOKEN = re.compile(rb" w\d{3}|.", re.DOTALL)  # one token of the model's vocabulary


def main() -> None:
    options = _arguments()
    if options.folder is None:
        print("no folder for llama.cpp and the models: name one")
        return
    llama = LlamaCpp(options.folder, options.device)
    unquantised = options.folder / f"random-{options.seed}.gguf"
    write_model(unquantised, options.seed)
    results = [_result(llama, llama.quantised(unquantised, kind), kind, options.tokens) for kind in options.types]
    print(json.dumps(results, indent=1) if options.json else _report(results, options.device))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=lambda word: Path(word).resolve())
    parser.add_argument("--device", default="gfx90a")
    parser.add_argument("--types", nargs="+", default=["f16", "q8_0", "q4_0", "q4_K"], metavar="TYPE")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


class LlamaCpp:
    """llama.cpp with its HIP backend, in a folder of its own."""

    def __init__(self, folder: Path, device: str):
        self._device = device
        roots = [packages.unpack(package, folder / "packages") for package in _PACKAGES]
        self._programs = roots[0] / "usr/bin"
        below = (_LIBRARIES, f"{_LIBRARIES}/llama", f"{_LIBRARIES}/openblas-pthread")
        path = ":".join(str(root / part) for root in roots for part in below)
        self._environment = os.environ | {"LD_LIBRARY_PATH": f"{path}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        self._here = folder / "backends"  # llama.cpp looks for its backends in the working directory
        self._here.mkdir(exist_ok=True)
        for backend in (library for root in roots for library in (root / _LIBRARIES / "ggml/backends0").glob("*.so")):
            link = self._here / backend.name
            link.unlink(missing_ok=True)
            link.symlink_to(backend)

    def quantised(self, model: Path, kind: str) -> Path:
        if kind == "f16":
            return model
        quantised_model = model.with_name(f"{model.stem}-{kind}.gguf")
        self._run([self._programs / "llama-quantize", "--pure", model, quantised_model, kind])
        return quantised_model

    def on_cpu(self, model: Path, tokens: int) -> bytes:
        return self._completed([*self._completion(model, tokens), "--device", "none"])

    def on_device(self, model: Path, tokens: int) -> bytes:
        command = (sys.executable, "-m", "rocm_perf_lab", "run", "--device", self._device, "--device-option", "observe=none")
        return self._completed([*command, *self._completion(model, tokens), "-ngl", "99"])

    def kernel_times(self, model: Path, tokens: int) -> dict[str, float]:
        """The modelled time of each kernel in ms."""
        with tempfile.TemporaryDirectory() as scratch:
            output = Path(scratch) / "profile"
            command = (sys.executable, "-m", "rocm_perf_lab", "profile", "--quiet", "--device", self._device, "-o", output)
            self._run([*command, *self._completion(model, tokens), "-ngl", "99"])
            kernels = json.loads((output / "analysis.json").read_text())["kernels"]
        return {kernel["kernel"]: kernel["time_ms"] for kernel in kernels}

    def _completion(self, model: Path, tokens: int) -> list[object]:
        options = ("--temp", 0, "-no-cnv", "-t", 1, "--no-warmup")
        return [self._programs / "llama-completion", "-m", model, "-p", _PROMPT, "-n", tokens, *options]

    def _completed(self, command: Sequence[object]) -> bytes:
        """The text that llama.cpp prints. In a few of a hundred runs, even on the CPU alone, it ends without printing any, so
        it is run up to _ATTEMPTS times.
        """
        return next((text for text in (self._run(command) for _ in range(_ATTEMPTS)) if text), b"")

    def _run(self, command: Sequence[object]) -> bytes:
        options = {"cwd": self._here, "env": self._environment, "stdin": subprocess.DEVNULL, "capture_output": True}
        ran = subprocess.run(list(map(str, command)), **options)
        if ran.returncode:
            sys.exit(f"{Path(str(command[0])).name} ended with {ran.returncode}: {ran.stderr.decode(errors='replace')[-600:]}")
        return ran.stdout


def _result(llama: LlamaCpp, model: Path, kind: str, tokens: int) -> dict[str, object]:
    expected, actual = llama.on_cpu(model, tokens), llama.on_device(model, tokens)
    first, all_of_them = llama.kernel_times(model, 1), llama.kernel_times(model, tokens)
    return {
        "type": kind,
        "tokens": tokens,
        "equal": _equal(expected, actual, tokens),
        "text": actual.decode(errors="replace"),
        "expected": expected.decode(errors="replace"),
        "prompt": _shares(first),
        "generation": _shares({name: time - first.get(name, 0.0) for name, time in all_of_them.items()}),
    }


def _equal(expected: bytes, actual: bytes, tokens: int) -> int:
    """How many of the generated tokens are the same before the first that differs."""
    if expected == actual:
        return tokens
    expected_tokens, got_tokens = (_TOKEN.findall(text.partition(_PROMPT[-8:].encode())[2]) for text in (expected, actual))
    return next(
        (
            index
            for index, (expected_token, got_token) in enumerate(zip(expected_tokens, got_tokens, strict=False))
            if expected_token != got_token
        ),
        min(len(expected_tokens), len(got_tokens)),
    )


def _shares(times: Mapping[str, float]) -> list[tuple[str, float]]:
    """The kernels that take the most time, with their shares of the total."""
    total = sum(times.values())
    longest = sorted(times.items(), key=lambda item: -item[1])[:_SHOWN_KERNELS]
    return [(name, time / total) for name, time in longest]


def _report(results: Sequence[Mapping], device: str) -> str:
    rows = [
        [
            result["type"],
            f"{result['equal']} of {result['tokens']}",
            *(_kernel_shares_text(result[phase]) for phase in ("prompt", "generation")),
        ]
        for result in results
    ]
    head = ["weights", f"same tokens on {device} and CPU", "prompt: kernels (modelled)", "generation: kernels (modelled)"]
    return markdown(head, rows)


def _kernel_shares_text(shares: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{re.split('[<(]', name)[0][:32]} {share:.0%}" for name, share in shares)


if __name__ == "__main__":
    main()
