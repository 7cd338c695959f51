"""Presents the result of a search as one self-contained HTML file: times by order of evaluation, importance, the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from rocm_perf_lab.autotune.evaluation_outcome import OK
from rocm_perf_lab.autotune.findings import best_so_far
from rocm_perf_lab.autotune.results import TuningResult, document
from rocm_perf_lab.autotune.search_loop import Evaluated, best_of
from rocm_perf_lab.autotune.table import table

_WIDTH, _HEIGHT, _LEFT, _BELOW = 860, 340, 70, 40
_ROW = 22
_MOST_TICKS = 8
_STYLE = """body{font:14px system-ui,sans-serif;margin:2em;max-width:900px;color:#222;background:#fff}
svg{display:block;margin:1em 0}pre{background:#f4f4f4;padding:1em;overflow:auto}
.axis{stroke:#999}.label{fill:#555;font-size:12px}.time{fill:#4477aa;fill-opacity:.6}.failed{stroke:#cc3311}
.best{fill:none;stroke:#222;stroke-width:1.5}.bar{fill:#4477aa}"""


def page(result: TuningResult) -> str:
    """The text of the file."""
    found = document(result)
    best = best_of(result.evaluated)
    kind = best.outcome.kind if best else "measured"
    sections = [
        f"<h1>Tuning on {escape(result.device)}</h1>",
        f"<pre>{escape(chr(10).join(table(result)))}</pre>",
        f"<h2>Time ({kind}) by order of evaluation</h2>",
        _times(result),
        "<p>Points: configurations; line: the best so far; red marks on the axis: those that failed.</p>",
        "<h2>Importance of parameters</h2>",
        _importance(found.importance) if found.importance else f"<p>{escape(found.reasons['importance'])}</p>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>rocm-perf autotune</title>'
        f"<style>{_STYLE}</style></head><body>\n{chr(10).join(sections)}\n</body></html>\n"
    )


def _times(result: TuningResult) -> str:
    times = [one.outcome.ms for one in result.evaluated]
    good = [time for time in times if time]
    ticks = _ticks(min(good), max(good)) if good else [1.0, 10.0]
    low, high = math.log(ticks[0]), math.log(ticks[-1])

    def x(number: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - 10) * number / max(len(times), 1), 1)

    def y(time: float) -> float:
        return round(10 + (_HEIGHT - _BELOW - 10) * (high - math.log(time)) / (high - low), 1)

    bottom = _HEIGHT - _BELOW
    parts = [f'<path class="axis" fill="none" d="M{_LEFT} 10V{bottom}H{_WIDTH - 10}"/>']
    parts += [
        f'<path class="axis" d="M{_LEFT - 5} {y(tick)}h5"/><text class="label" x="{_LEFT - 8}" y="{y(tick) + 4}" '
        f'text-anchor="end">{tick:.3g} ms</text>'
        for tick in ticks
    ]
    for number, one in enumerate(result.evaluated, start=1):
        title = f"<title>{escape(' '.join(f'{k}={v}' for k, v in one.values.items()))}: {escape(_said(one))}</title>"
        if one.outcome.ms:
            parts.append(f'<circle class="time" cx="{x(number)}" cy="{y(one.outcome.ms)}" r="3">{title}</circle>')
        elif one.outcome.status != OK:
            parts.append(f'<path class="failed" d="M{x(number)} {bottom}v-8">{title}</path>')
    steps = [(x(number), y(time)) for number, time in enumerate(best_so_far(result.evaluated), start=1) if time]
    if steps:
        line = "".join(f"H{across}V{down}" for across, down in steps)
        parts.append(f'<path class="best" d="M{steps[0][0]} {steps[0][1]}{line}"/>')
    parts += [
        f'<text class="label" x="{x(at)}" y="{bottom + 18}" text-anchor="middle">{at}</text>'
        for at in sorted({1, (len(times) + 1) // 2, len(times)})
    ]
    return _svg(_WIDTH, _HEIGHT, parts)


def _said(one: Evaluated) -> str:
    return f"{one.outcome.ms:.4g} ms" if one.outcome.ms is not None else one.outcome.reason or one.outcome.status


def _importance(shares: dict[str, float]) -> str:
    parts, longest = [], max(shares.values())
    for row, (name, share) in enumerate(sorted(shares.items(), key=lambda item: -item[1])):
        top = row * _ROW
        parts.append(
            f'<text class="label" x="190" y="{top + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="bar" x="200" y="{top + 3}" width="{round(500 * share / longest, 1)}" height="{_ROW - 6}"/>'
            f'<text class="label" x="{round(206 + 500 * share / longest, 1)}" y="{top + 15}">{share:.0%}</text>'
        )
    return _svg(_WIDTH, len(shares) * _ROW + 4, parts)


def _ticks(low: float, high: float) -> Sequence[float]:
    """Ticks of 1, 2 or 5 times powers of ten that enclose both, at least two; if they are many, only powers of ten."""
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    every = [factor * 10.0**exponent for exponent in exponents for factor in (1, 2, 5)]
    first = max(at for at, tick in enumerate(every) if tick <= low)
    last = min(at for at, tick in enumerate(every) if tick >= high and at > first)
    chosen = every[first : last + 1]
    if len(chosen) <= _MOST_TICKS:
        return chosen
    return [chosen[0], *(tick for tick in chosen[1:-1] if math.log10(tick) % 1 < 1e-9), chosen[-1]]


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">{"".join(parts)}</svg>'
