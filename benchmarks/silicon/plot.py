"""Plots modelled times over recorded ones (nothing else here needs matplotlib)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

_MARKS = "os^Dv<>pP*Xh"


class Compared(Protocol):
    """A recorded point and its modelled time."""

    program: str
    recorded_us: float
    modelled_us: float


def plot(points: Sequence[Compared], file: Path, title: str) -> None:
    """Write a plot in the format of the file's suffix, with a line where both times are equal and a band of 25 % around it."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "recorded times", "font.size": 9}
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 5.6), layout="constrained")
    times = [time for point in points for time in (point.recorded_us, point.modelled_us)]
    ends = [min(times) / 1.5, max(times) * 1.5]
    axes.fill_between(ends, [0.75 * end for end in ends], [1.25 * end for end in ends], color="0.9", label="within 25 %")
    axes.plot(ends, ends, color="0.5", linewidth=0.8)
    for number, name in enumerate(sorted({point.program for point in points})):
        points_of_program = [point for point in points if point.program == name]
        recorded, modelled = (
            [point.recorded_us for point in points_of_program],
            [point.modelled_us for point in points_of_program],
        )
        axes.plot(recorded, modelled, _MARKS[number % len(_MARKS)], markersize=4, label=name)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="recorded, us", ylabel="modelled, us", title=title)
    axes.set_aspect("equal")
    axes.legend(fontsize=7, loc="upper left")
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
