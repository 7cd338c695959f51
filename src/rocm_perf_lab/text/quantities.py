"""Formats numbers and quantities for human readers."""

from __future__ import annotations

from collections.abc import Iterable

UNKNOWN = "?"


def percent(fraction: float | None) -> str:
    """0.1234 -> '12.3 %'."""
    return UNKNOWN if fraction is None else f"{round(100 * fraction, 1) + 0.0:.1f} %"  # -0.0 + 0.0 is 0.0


def times(factor: float | None) -> str:
    """1.5 -> '1.50x'."""
    if factor is None:
        return UNKNOWN
    return f"{factor:.2f}x" if factor < 100 else f"{factor:,.0f}x"


def duration(ns: float | None) -> str:
    """A time in the unit that leaves one to three digits before the decimal point."""
    if ns is None:
        return UNKNOWN
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}" if abs(ns) < 1e3 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.0f} ns"


def milliseconds(ms: float | None) -> str:
    """Like duration(), for a time in ms."""
    return duration(None if ms is None else ms * 1e6)


def amount(value: float | None, unit: str) -> str:
    """A number with its unit: thousands are grouped; smaller numbers have three significant digits."""
    if value is None:
        return UNKNOWN
    number = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


def size(count: float | None) -> str:
    """A number of bytes, in binary units."""
    if count is None:
        return UNKNOWN
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} B"


def registers(vgprs: int | None, agprs: int | None, sgprs: int | None) -> str:
    """'32 + 0 VGPRs (arch + accum), 16 SGPRs'."""
    if vgprs is None or agprs is None:
        return "an unknown number of registers"
    return f"{vgprs} + {agprs} VGPRs (arch + accum), {sgprs} SGPRs"


def evidence(name: str, value: float | None, unit: str) -> str:
    """'wait fraction 51.5 %': a piece of evidence; the unit is left out if the name already contains it."""
    label = name.replace("_", " ")
    if unit == "fraction":
        return f"{label} {percent(value)}"
    if unit == "ns":
        return f"{label} {duration(value)}"
    if unit == "flag":
        return f"{label} {UNKNOWN if value is None else 'yes' if value else 'no'}"
    has_unit = unit in label or "/" in unit
    return f"{label} {amount(value, '' if has_unit else unit)}"


def lift(changes: Iterable[tuple[str, int, int]], before: int, after: int, simds: int) -> str:
    """'8 fewer VGPRs (80): 5 -> 6 waves per SIMD'. changes: (resource, now, then); before, after: waves per CU."""
    parts = [_change(*change) for change in changes]
    if before % simds == 0 and after % simds == 0:
        return f"{' and '.join(parts)}: {before // simds} -> {after // simds} waves per SIMD"
    return f"{' and '.join(parts)}: {before} -> {after} waves per CU"


def _change(resource: str, now: int, then: int) -> str:
    if resource == "workgroup size":
        return f"workgroups of {then} threads instead of {now}"
    name = "bytes of LDS per workgroup" if resource == "LDS" else resource
    return f"{now - then:,} fewer {name} ({then:,} at most)"


def unit(name: str | None) -> str:
    """'a CU' or, on RDNA in WGP mode, 'a WGP (two CUs)'."""
    return "a WGP (two CUs)" if name == "WGP" else "a CU"
