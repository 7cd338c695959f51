"""Checks all translation units of the program that include the changed file: in each of them, only the judged kernel's code may
change, and the text that is kept must compile to the code that was judged.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.code_object import code_objects_in, parse
from rocm_perf_lab.code_object.symbol_contents import contents_by_symbol, text_section
from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.application.location_dependence import usual_names
from rocm_perf_lab.gate.code_object.code_object_check import BuiltCodeObject, changed_outside_kernel
from rocm_perf_lab.gate.code_object.code_outside_kernel import compare_host
from rocm_perf_lab.gate.code_object.reached_functions import kernel_and_callees
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.process.side_by_side import side_by_side

if TYPE_CHECKING:
    from rocm_perf_lab.gate.judge import Builder


def device_difference(
    baseline: HipSource, candidate: HipSource, builder: Builder, kernel: SourceKernel, symbol: str
) -> str | None:
    """What changes in another unit's code object: anything outside the kernel, or the kernel itself if it does not change in
    the same way as in the judged unit. Or else, why another program no longer compiles. None if there is no such change.

    Raises any error from building and reading.
    """
    judged = [builder.code_object(source) for source in (baseline, candidate)]
    for before, after in zip(baseline.other_units_of_program, candidate.other_units_of_program, strict=True):
        images = [builder.code_object(unit) for unit in (before, after)]
        first, second = (BuiltCodeObject(parse(image), image) for image in images)
        complaint = changed_outside_kernel(first, second, kernel, symbol)
        for own, other in zip(judged, images, strict=True) if complaint is None and symbol in first.parsed.kernels else ():
            if not same_machine_code(own, other, symbol):
                complaint = f"it compiles to different machine code there than in {baseline.main.name}, which is judged"
        if complaint:
            return f"in {before.main.name}: {complaint}"
    return _launching_unit_difference(baseline, candidate, builder) or _other_unit_complaint(candidate, builder)


def _other_unit_complaint(candidate: HipSource, builder: Builder) -> str | None:
    """Why a unit found only in other programs no longer compiles; None if all such units compile."""
    for unit in candidate.units_of_other_programs:
        try:
            builder.code_object(unit)
        except SourceError as error:
            return f"in another program: {error.problem}"
    return None


def _launching_unit_difference(baseline: HipSource, candidate: HipSource, builder: Builder) -> str | None:
    """How changed launches affect the device code of a unit that does not contain the kernel; None if they do not."""
    changed = {file for file, text in candidate.other_files.items() if baseline.other_files.get(file) != text}
    for before, after in zip(baseline.other_units, candidate.other_units, strict=True) if changed else ():
        if before in (*baseline.other_units_of_program, *baseline.units_of_other_programs) or changed.isdisjoint(
            (before.main.resolve(), *before.included)
        ):
            continue
        if contents_by_symbol(builder.code_object(before)) != contents_by_symbol(builder.code_object(after)):
            return f"in {before.main.name}: the device code depends on the shape of the launches"
    return None


def host_difference(baseline: HipSource, candidate: HipSource, builder: Builder) -> str | None:
    """How the host code of a unit that includes the file differs; None if it does not. Raises any error from building."""
    for before, after in zip(
        (baseline, *baseline.other_units_of_program), (candidate, *candidate.other_units_of_program), strict=True
    ):
        if complaint := compare_host(builder.host(before), builder.host(after)):
            return complaint if before is baseline else f"in {before.main.name}: {complaint}"
    return None


def program_difference(program: Path, judged: HipSource, builder: Builder) -> str | None:
    """Why the code in the whole program is not the code that was judged; None if it is. Raises any error from building and
    reading.
    """
    text_sections = {text_section(image) for _, image in code_objects_in(program)}
    for unit in (judged, *judged.other_units_of_program):
        # The name in the command determines the length of strings such as an assertion's __FILE__, and hence the layout.
        named = (builder.code_object_named(unit, name) for name in usual_names(unit))
        if not any(text_section(image) in text_sections for image in itertools.chain([builder.code_object(unit)], named)):
            return f"the program's own code of {unit.main.name} is not the code that was judged"
    return None


def makes_judged_code(text: HipSource, judged: HipSource, baseline: HipSource, builder: Builder) -> bool:
    """Whether, in each unit that includes it, a text compiles to the judged device code and the baseline's host code, ignoring
    debug information. Raises any error from building the other two sources and from reading.
    """
    texts, codes, expected = ((source, *source.other_units_of_program) for source in (text, judged, baseline))
    return all(
        _compiles_to_judged_code(unit, code, host, builder) for unit, code, host in zip(texts, codes, expected, strict=True)
    )


def _compiles_to_judged_code(text: HipSource, judged: HipSource, baseline: HipSource, builder: Builder) -> bool:
    code_object, host = builder.code_object(judged), builder.host
    try:
        image, its_host, expected = side_by_side(
            [lambda: builder.code_object(text), lambda: builder.host(text), lambda: host(baseline)]
        )
    except SourceError:  # such as a static_assert about __LINE__
        return False
    same = parse(code_object) == parse(image) and contents_by_symbol(code_object) == contents_by_symbol(image)
    return same and compare_host(expected, its_host) is None


def same_machine_code(one: bytes, other: bytes, symbol: str) -> bool:
    """Whether a kernel, its descriptor and the functions that it calls are the same in two code objects. Raises SourceError."""
    first, second = (machine_code(image, symbol) for image in (one, other))
    return first == second


def machine_code(image: bytes, symbol: str) -> list[tuple[bytes | None, tuple[tuple[int, str], ...]]]:
    """Contents and references of a kernel, of the functions that it calls and of its descriptor. Raises SourceError."""
    pieces = contents_by_symbol(image)
    descriptor = pieces.get(f"{symbol}.kd")
    return [(p.content, p.references) for p in (*kernel_and_callees(pieces, symbol), descriptor) if p is not None]
