"""How fast the software device executes: wave instructions per second on one host core, by class, and the testbed's kernels
compared with the same loops compiled for the host.

    python benchmarks/device.py [--only NAME...] [--rounds N] [--against LIBRARY] [--unobserved] [--hecbench CHECKOUT] [--json]
    python benchmarks/device.py --functions NAME

Times are the processor time of the whole process, as the difference between two repeat counts, so start-up does not count; the
device uses one thread. --against names another build of the device library, which is run alternately with this one: a column
for it and the ratio are added. --unobserved adds a column for this library without counting and timing. --hecbench adds six
programs from a checkout of github.com/zjin-lcf/HeCBench, compared with their OpenMP versions on one core of the host.
--functions prints in which functions the device spends its time, by `perf`. The figures depend on the machine, so only the
ratios are meaningful.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab import native
from rocm_perf_lab.collect import device as devices

HERE = Path(__file__).parent
TESTBED = HERE.parent / "build" / "testbed"
WAVES = 64 * 4
PER_TURN = 32
# Numbers of turns that take about a tenth of a second.
CLASSES = {
    "scalar_add": 400, "add_f32": 400, "fma_f32": 400, "fma_f64": 200, "fma_packed_f32": 100, "fma_packed_f16": 40,
    "add_u32": 400, "logic": 400, "multiply_u32": 400, "compare_select": 200, "exp_f32": 50, "log_f32": 50, "rcp_f32": 50,
    "rsq_f32": 50, "sqrt_f32": 50, "sin_f32": 20, "add_packed_f16": 50, "convert_f16": 50, "dpp": 200,
    "scalar_load": 200, "load": 40, "load_x4": 20, "load_scattered": 5, "store": 30, "lds_read": 30, "lds_read_x4": 15,
    "lds_write": 30, "mfma_f16": 5, "mfma_f32": 10,
}  # fmt: skip

REPEATS = "REPEATS"
SHORTEST = 0.02  # seconds of processor time


@dataclass(frozen=True)
class Kernel:
    """A command for the device and one for the host; each runs the same loop as often as its argument REPEATS says, or else an
    argument that is added at the end.

    repeats, host_repeats: numbers that take about a tenth of a second.
    """

    command: list[str]
    repeats: int
    host: list[str]
    host_repeats: int


_GEMM, _SOFTMAX = ["gemm", "-n", "256", "--kernel"], ["softmax_testbed", "--rows", "1024", "--cols", "512", "--kernel"]
_HOST_GEMM, _HOST_SOFTMAX = ["host-gemm", "256"], ["host-softmax", "1024"]
# The commands are programs of the testbed, and arguments of device.hip.
KERNELS = {
    "vcopy": Kernel(["vcopy", "-n", "4194304", "-i"], 2, ["host-vcopy", "4194304"], 40),
    "gemm naive": Kernel([*_GEMM, "naive", "--repeats"], 1, _HOST_GEMM, 100),
    "gemm lds": Kernel([*_GEMM, "lds", "--repeats"], 1, _HOST_GEMM, 100),
    "gemm tiled": Kernel([*_GEMM, "tiled", "--repeats"], 1, _HOST_GEMM, 100),
    "gemm mfma": Kernel([*_GEMM, "mfma", "--repeats"], 2, _HOST_GEMM, 100),
    "softmax naive": Kernel([*_SOFTMAX, "naive", "--repeats"], 2, _HOST_SOFTMAX, 40),
    "softmax lds": Kernel([*_SOFTMAX, "lds", "--repeats"], 2, _HOST_SOFTMAX, 40),
    "reduction": Kernel(
        ["reduction", "-n", "1048576", "--kernel", "lds", "--type", "int", "--repeats"], 8, ["host-reduction", "1048576"], 400
    ),
}  # fmt: skip
# For each of HeCBench's programs: its arguments, and numbers of repeats on the device and on the host.
HECBENCH: dict[str, tuple[list[str], int, int]] = {
    "floydwarshall": (["64", REPEATS, "16"], 1, 40),
    "laplace3d": (["64", "64", "64", REPEATS, "0"], 2, 40),
    "matrix-rotate": (["500", REPEATS], 2, 200),
    "md": (["0", REPEATS], 1, 4),
    "nbody": (["1024", REPEATS], 3, 4),
    "stencil1d": (["1048576", REPEATS], 1, 8),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=[*CLASSES, "waves", *KERNELS, *_hecbench_names()], help="what to measure"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path, metavar="LIBRARY")
    parser.add_argument("--unobserved", action="store_true")
    parser.add_argument("--hecbench", type=Path, metavar="CHECKOUT")
    parser.add_argument("--functions", metavar="NAME", choices=[*CLASSES, "waves", *KERNELS])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.hecbench is None and any(name in _hecbench_names() for name in options.only or ()):
        parser.error("HeCBench's programs need --hecbench CHECKOUT")
    if options.hecbench is not None and not (options.hecbench / "src").is_dir():
        parser.error(f"{options.hecbench} is no checkout of HeCBench: it has no folder src")
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        if options.functions:
            print(functions(program, options.functions))
            return
        medians = measure(program, options)
    print(json.dumps(medians, indent=1) if options.json else text(medians))


def build(folder: Path) -> Path:
    program = folder / "device"
    options = ["-O3", "-Xarch_host", "-march=native", "--offload-arch=gfx942"]
    command = ["hipcc", *options, str(HERE / "device.hip"), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def _hecbench_names() -> list[str]:
    return [f"hecbench {name}" for name in HECBENCH]


def testbed_kernels(program: Path) -> dict[str, Kernel]:
    """The kernels with the paths of their programs."""
    return {
        name: Kernel(
            [str(TESTBED / kernel.command[0]), *kernel.command[1:]],
            kernel.repeats,
            [str(program), *kernel.host],
            kernel.host_repeats,
        )
        for name, kernel in KERNELS.items()
    }


def hecbench_kernels(checkout: Path, folder: Path) -> dict[str, Kernel]:
    """HeCBench's programs, built for the device, and their OpenMP versions, built for the host."""
    kernels = {}
    for name, (arguments, repeats, host_repeats) in HECBENCH.items():
        built = {}
        for version, compiler in (
            ("hip", ["hipcc", "-O3", "--offload-arch=gfx942"]),
            ("omp", ["g++", "-O3", "-ffast-math", "-march=native", "-fopenmp"]),
        ):
            sources = checkout.resolve() / "src" / f"{name}-{version}"
            built[version] = str(folder / f"{name}-{version}")
            command = [*compiler, "-std=c++17", "-w", *_from_makefile(sources / "Makefile"), "-o", built[version]]
            subprocess.run(command, cwd=sources, check=True)
        kernels[f"hecbench {name}"] = Kernel([built["hip"], *arguments], repeats, [built["omp"], *arguments], host_repeats)
    return kernels


def _from_makefile(makefile: Path) -> list[str]:
    """Where a Makefile of HeCBench looks for headers, and the files that it compiles."""
    lines = makefile.read_text().splitlines()
    files = next(line.split("=", 1)[1].split() for line in lines if line.startswith("source"))
    return [*(word for line in lines for word in line.split() if word.startswith("-I")), *files]


def functions(program: Path, name: str) -> str:
    """The functions of the device in which it spends most time, by `perf`'s samples."""
    if shutil.which("perf") is None:
        sys.exit("--functions needs perf: install it (Debian: linux-perf), and run this script where it is")
    kernels = testbed_kernels(program)
    few = kernels[name].repeats if name in kernels else CLASSES.get(name, 400)
    command = kernels[name].command if name in kernels else [str(program), name]
    samples = program.parent / "samples"
    run = on_device(native.device_library(), program.parent)
    run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", str(samples), *_repeated(command, 10 * few)])
    report = ["perf", "report", "-i", str(samples), "--stdio", "-g", "none", "--sort", "sym", "--percent-limit", "0.5"]
    lines = subprocess.run(report, check=True, capture_output=True, text=True).stdout.splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip() and not line.startswith("#"))


def measure(program: Path, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    library, folder = native.device_library(), program.parent
    kernels = testbed_kernels(program) | (hecbench_kernels(options.hecbench, folder) if options.hecbench else {})
    devices_by_label = {"here": on_device(library, folder)}
    if options.against:
        devices_by_label["against"] = on_device(options.against.resolve(), folder)
    if options.unobserved:
        devices_by_label["unobserved"] = on_device(library, folder, [devices.NO_OBSERVATION])
    wanted = options.only or [*CLASSES, "waves", *kernels]
    medians: dict[str, dict[str, float]] = {}
    for name in wanted:
        rounds = [one_round(program, name, kernels.get(name), devices_by_label) for _ in range(options.rounds)]
        medians[name] = {key: statistics.median(row[key] for row in rounds) for key in rounds[0]}
    return medians


def one_round(program: Path, name: str, kernel: Kernel | None, on: dict[str, Callable[[list[str]], float]]) -> dict[str, float]:
    """Processor time in seconds per wave instruction (or wave, or kernel launch); for kernels, also of the host's loop."""
    row = {label: seconds_each(run, program, name, kernel) for label, run in on.items()}
    if kernel:
        host, environment = kernel.host, os.environ | {"OMP_NUM_THREADS": "1"}
        row["host"] = slope(lambda times: seconds_of(_repeated(host, times), environment), kernel.host_repeats)
    return row


def seconds_each(run: Callable[[list[str]], float], program: Path, name: str, kernel: Kernel | None) -> float:
    if kernel:
        return slope(lambda times: run(_repeated(kernel.command, times)), kernel.repeats)
    few, work = (400, WAVES) if name == "waves" else (CLASSES[name], WAVES * PER_TURN)
    return slope(lambda times: run(_repeated([str(program), name], times)), few) / work


def _repeated(command: list[str], times: int) -> list[str]:
    if REPEATS not in command:
        return [*command, str(times)]
    return [str(times) if word == REPEATS else word for word in command]


def slope(seconds: Callable[[int], float], times: int) -> float:
    """The seconds per repeat, from the difference between `times` repeats and five times as many; more repeats are made if that
    difference is too short to be measured."""
    while (difference := seconds(5 * times) - seconds(times)) < SHORTEST:
        times *= 2
    return difference / (4 * times)


def on_device(library: Path, scratch: Path, options: Sequence[str] = ()) -> Callable[[list[str]], float]:
    environment = devices.select(devices.SOFTWARE_TARGET, scratch, options).environment(os.environ)
    changed = {key: value.replace(str(native.device_library()), str(library)) for key, value in environment.items()}
    return lambda command: seconds_of(command, changed | {"ROCM_PERF_DEVICE_THREADS": "1"})


def seconds_of(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def text(medians: dict[str, dict[str, float]]) -> str:
    classes = {name: row for name, row in medians.items() if "host" not in row}
    kernels = {name: row for name, row in medians.items() if "host" in row}
    lines = [f"{'':22} {'million/s':>10} {'before':>10} {'ratio':>6} {'unobserved':>10}"]
    for name, row in classes.items():
        before, free = row.get("against"), row.get("unobserved")
        lines.append(f"{name:22} {1e-6 / row['here']:10.2f} {_or_none(before and 1e-6 / before, 10, 2)} "
                     f"{_or_none(before and before / row['here'], 6, 2)} {_or_none(free and 1e-6 / free, 10, 2)}")  # fmt: skip
    lines.append(f"{'kernel':22} {'ms':>10} {'before':>10} {'host ms':>9} {'ratio':>6} {'before':>6} {'unobserved':>10}")
    for name, row in kernels.items():
        before, free, host = row.get("against"), row.get("unobserved"), row["host"]
        lines.append(f"{name:22} {1e3 * row['here']:10.2f} {_or_none(before and 1e3 * before, 10, 2)} {1e3 * host:9.3f} "
                     f"{row['here'] / host:6.0f} {_or_none(before and before / host, 6, 0)} "
                     f"{_or_none(free and free / host, 10, 0)}")  # fmt: skip
    if kernels:
        means = (_mean_ratio(kernels, label) for label in ("here", "against", "unobserved"))
        now, before, free = (_or_none(mean, width, 1) for mean, width in zip(means, (6, 6, 10), strict=True))
        lines.append(f"{'geometric mean':54} {now} {before} {free}")
    return "\n".join(lines)


def _mean_ratio(kernels: dict[str, dict[str, float]], label: str) -> float | None:
    ratios = [row[label] / row["host"] for row in kernels.values() if label in row]
    return statistics.geometric_mean(ratios) if ratios else None


def _or_none(value: float | None, width: int, digits: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"


if __name__ == "__main__":
    main()
