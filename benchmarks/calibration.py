"""Modelled times of public HIP programs compared with times recorded on an MI300A, and a fit of the timing model to them.

    python benchmarks/calibration.py SOURCES TIMES [--only PROGRAM...] [--all] [--device NAME] [--jobs N] [--json]
                                     [--fit [PARAMETER...]] [--errors FILE] [--kept FILE] [--plot FILE]

SOURCES is `gpu_perf_scripts/` in a checkout of github.com/sarchlab/mgpusim, whose HIP programs are compiled unchanged. TIMES is
a CSV file with the columns kernel_name, problem_size, iterations, avg_ms and max_ms (milliseconds, measured with hipEvents
around one iteration). Neither is part of this repository. Problem sizes for which the device would take long are left out
unless --all is given. The device is mi300a unless a different one is named.

For each program, the number of points, the mean absolute error and the bias are printed, both relative to the recorded time;
for all points together, also the median error, and the sum of the errors over the sum of the times. --json prints each point,
and --plot FILE.svg also draws them (pip install matplotlib).

--fit fits adjustable parameters of timing_gfx942.toml (those named, or all that FITTED lists) and prints them, with the errors.
It also leaves out one program at a time, fits to the others, and models the one left out with the result: these are the errors
to expect for programs that the model has not seen. --errors FILE writes them, grouped by what limits the kernels, in the format
of arch/timing_errors.toml. A fit takes some minutes per parameter; --kept FILE keeps every modelled time, so that an
interrupted fit can be resumed. That file is valid for one build of the device only: remove it after a change.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from silicon.plot import plot  # noqa: E402
from silicon.programs import PROGRAMS, Point, recorded_points  # noqa: E402
from silicon.runs import Parameters, Runs, note, parameter_text  # noqa: E402

# These do not include the latencies, which pointer chases have measured directly, or mall_read_gbps, which the recorded waves
# of vecCopy determine.
FITTED = (
    "launch_overhead_ns", "dispatch_gap_ns", "submit_cost_ns", "workgroup_launch_cycles", "l2_read_bytes_per_cycle",
    "mall_write_gbps", "mall_mixed_gbps", "host_link_gbps", "copy_overhead_ns",
)  # fmt: skip
COPIES = "memcopy_"  # prefix of the names of programs that have no kernel of their own


@dataclass(frozen=True)
class Modelled:
    """A recorded point and its modelled time in microseconds."""

    program: str
    size: str
    recorded_us: float
    modelled_us: float

    @property
    def error(self) -> float:
        return self.modelled_us / self.recorded_us - 1


def main() -> None:
    options = _arguments()
    points = list(recorded_points(options.times, options.only, options.all))
    with tempfile.TemporaryDirectory(prefix="rocm-perf-calibration-") as folder:
        runs = Runs(options.sources, Path(folder), options.device, options.jobs, options.kept)
        runs.compile(points)
        times = runs.times(points, {})
        points = [point for point, time in zip(points, times, strict=True) if time is not None]
        if options.fit is None:
            modelled_points = modelled(points, [time for time in times if time is not None])
            if options.plot:
                plot(modelled_points, options.plot, "Twelve programs recorded on an MI300A, and modelled")
            return _show(modelled_points, options.json)
        _fit(points, runs, options)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="?", type=Path)
    parser.add_argument("times", nargs="?", type=Path)
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--all", action="store_true", help="include the sizes that take long")
    parser.add_argument("--device", default="mi300a")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fit", nargs="*", metavar="PARAMETER")
    parser.add_argument("--errors", type=Path, metavar="FILE", help="with --fit: writes the errors by limit")
    parser.add_argument("--kept", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="without --fit: draws the points")
    options = parser.parse_args()
    if options.sources is None or options.times is None:
        print("no recorded programs: name their sources and times")
        sys.exit()
    if unknown := sorted(set(options.only) - set(PROGRAMS)):
        parser.error(f"--only: {', '.join(unknown)} is not among {', '.join(PROGRAMS)}")
    if not options.times.is_file():
        parser.error(f"{options.times} is not a file: name the recorded times")
    if lacking := sorted({f"{PROGRAMS[name].source}.cpp" for name in options.only if not _source(options, name).is_file()}):
        parser.error(f"{options.sources} has no {', '.join(lacking)}: name gpu_perf_scripts/ of a checkout")
    return options


def _source(options: argparse.Namespace, name: str) -> Path:
    return Path(options.sources, f"{PROGRAMS[name].source}.cpp")


def modelled(points: Sequence[Point], times: Sequence[float]) -> list[Modelled]:
    return [Modelled(p.program, p.size, p.recorded_us, time) for p, time in zip(points, times, strict=True)]


def _show(points: Sequence[Modelled], as_json: bool) -> None:
    print(json.dumps([asdict(point) for point in points], indent=1) if as_json else "\n".join(table(points)))


def _fit(points: Sequence[Point], runs: Runs, options: argparse.Namespace) -> None:
    import numpy as np
    from silicon.fit import Parameter, linearised

    from rocm_perf_lab.arch.timing_parameters import timing_parameters

    entries = timing_parameters()
    parameters = [Parameter(name, entries[name]["value"], entries[name]["uncertainty"]) for name in options.fit or FITTED]

    def timed(points: Sequence[Point], changed: Parameters) -> list[float]:
        description = ", ".join(f"{name} {parameter_text(value)}" for name, value in changed.items())
        note(f"{len(points)} points with {description or 'the table'}")
        return [time if time is not None else float("nan") for time in runs.times(points, changed)]

    base = timed(points, {})
    stepped = {parameter.name: timed(points, {parameter.name: parameter.stepped()}) for parameter in parameters}
    model = linearised(parameters, [point.recorded_us for point in points], base, stepped)
    programs = np.array([point.program for point in points])
    fits = {None: model.fitted(np.full(len(points), True))}
    unseen: list[Modelled] = []
    for name in sorted(set(programs)):
        fits[name] = model.fitted(programs != name)
        left_out = [point for point in points if point.program == name]
        unseen += modelled(left_out, timed(left_out, fits[name]))
    if options.errors:
        _write_errors(options.errors, unseen, points, runs, fits[None])
    after = modelled(points, timed(points, fits[None]))
    before = modelled(points, base)
    if options.json:
        print(json.dumps({"parameters": {name or "all": fit for name, fit in fits.items()},
                          "before": [asdict(p) for p in before], "after": [asdict(p) for p in after],
                          "left_out": [asdict(p) for p in unseen]}, indent=1))  # fmt: skip
        return
    print("| Parameter | Table | Fitted | With one program left out |\n|---|---|---|---|")
    for parameter in parameters:
        left_one_out = [fit[parameter.name] for name, fit in fits.items() if name is not None]
        name, fitted_value = parameter.name, fits[None][parameter.name]
        print(f"| {name} | {parameter.value} | {fitted_value:.4g} | {min(left_one_out):.4g} to {max(left_one_out):.4g} |")
    for title, results in (
        ("With the table:", before),
        ("With what was fitted:", after),
        ("Each program left out of the fit:", unseen),
    ):
        print(f"\n{title}\n")
        _show(results, False)


def _write_errors(file: Path, unseen: Sequence[Modelled], points: Sequence[Point], runs: Runs, fitted: Parameters) -> None:
    from silicon import errors

    kernels = [point for point in points if not point.program.startswith(COPIES)]
    note(f"what limits {len(kernels)} points")
    limits = dict(zip((point.name for point in kernels), runs.limits(kernels, fitted), strict=True))
    known = [point for point in unseen if limits.get(f"{point.program} {point.size}")]
    ratios = [point.modelled_us / point.recorded_us for point in known]
    limiting = [str(limits[f"{point.program} {point.size}"]) for point in known]
    before = file.read_text() if file.is_file() else ""
    file.write_text(errors.with_limits(before, limiting, [point.program for point in known], ratios))


def table(points: Sequence[Modelled]) -> Iterator[str]:
    yield "| Program | Points | Mean error | Bias |"
    yield "|---|---|---|---|"
    for name in sorted({point.program for point in points}):
        errors = [point.error for point in points if point.program == name]
        yield f"| {name} | {len(errors)} | {_mean_size(errors):.1%} | {statistics.mean(errors):+.1%} |"
    if not points:
        return
    errors = [point.error for point in points]
    weighted = sum(abs(point.error) * point.recorded_us for point in points) / sum(point.recorded_us for point in points)
    yield f"| all | {len(errors)} | {_mean_size(errors):.1%} | {statistics.mean(errors):+.1%} |"
    yield ""
    yield f"Median {statistics.median(map(abs, errors)):.1%}, weighted by time {weighted:.1%}."


def _mean_size(errors: Sequence[float]) -> float:
    return statistics.mean(map(abs, errors))


if __name__ == "__main__":
    main()
