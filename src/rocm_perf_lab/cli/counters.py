"""`rocm-perf counters`: what each hardware counter means and where it is available."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rocm_perf_lab.arch.counters import Counter
    from rocm_perf_lab.errors import RocmPerfError

_TARGETS = ("device", "gfx942", "gfx90a", "gfx1030", "gfx950")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with one object per counter.")
@click.option("--block", metavar="BLOCK", help="Hardware block whose counters to list, such as SQ or TCC.")
@click.option("--arch", type=click.Choice(_TARGETS), help="Target whose counters to list; device: the software device.")
def command(names: tuple[str, ...], as_json: bool, block: str | None, arch: str | None) -> None:
    """List hardware counters: what each counts, its unit, where it is available, and which formulas use it."""
    from rocm_perf_lab.arch.counters import known_counters, uses
    from rocm_perf_lab.errors import UsageError

    table = known_counters()
    _check(names, [counter.name for counter in table], "counter", UsageError)
    _check([block] if block else [], sorted({counter.block for counter in table}), "block", UsageError)
    wanted = [
        counter
        for counter in table
        if (not names or counter.name in names)
        and (block is None or counter.block == block)
        and (arch is None or arch in _available(counter))
    ]
    if as_json:
        from rocm_perf_lab.arch.counters_document import counters_document
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(counters_document(wanted)))
        return
    for counter in wanted:
        _print(counter, uses().get(counter.name, ()))
    click.echo(f"{len(wanted)} counters, of which the software device has {sum(counter.on_device for counter in wanted)}")


def _check(names: Iterable[str], known: list[str], kind: str, error: type[RocmPerfError]) -> None:
    for name in names:
        if name not in known:
            stem = name.split("_")[0]
            near = [other for other in known if other.startswith(stem)][:5] or known[:5]
            raise error(f"unknown {kind} {name}", f"known ones include {', '.join(near)}")


def _available(counter: Counter) -> list[str]:
    return (["device"] if counter.on_device else []) + list(counter.hardware)


def _print(counter: Counter, used_by: tuple[str, ...]) -> None:
    click.echo(f"{click.style(counter.name, bold=True)}  [{counter.unit}]  {', '.join(_available(counter)) or 'nowhere'}")
    click.echo(f"    {counter.meaning}")
    click.echo(f"    device: {counter.model}" if counter.on_device else f"    not on the device: {counter.why}")
    if used_by:
        click.echo(f"    used by {', '.join(used_by)}")
