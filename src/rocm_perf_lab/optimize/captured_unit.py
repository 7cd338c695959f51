"""Which of a program's units the captured code is of: a header's kernel may be compiled in several."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf_lab.code_object import parse
from rocm_perf_lab.code_object.pieces import pieces_of
from rocm_perf_lab.errors import NoCaptureError
from rocm_perf_lab.gate.elsewhere import same_machine_code
from rocm_perf_lab.gate.judge import Builder
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.isolate import Capture


def unit_of(source: HipSource, captures: Sequence[Capture], builder: Builder) -> HipSource:
    """The source as that unit has it whose code object was captured.

    Errors: those of building; NoCaptureError where the captures are of several units, or it is not to be told which.
    """
    if not source.elsewhere:
        return source
    symbol = captures[0].symbol
    images = {unit: builder.device(unit) for unit in (source, *source.elsewhere)}
    units = [unit for unit, image in images.items() if symbol in parse(image).kernels]
    captured = [_shape(capture.code_object.read_bytes()) for capture in captures]
    alike = [unit for unit in units if all(_shape(images[unit]) == one for one in captured)]
    if alike and all(same_machine_code(images[alike[0]], images[unit], symbol) for unit in alike[1:]):
        return alike[0]
    names = " and ".join(unit.main.name for unit in units) or "no unit of the build"
    raise NoCaptureError(
        f"{captures[0].kernel} is compiled in {names}, and which of them was launched is not known",
        "compile it in one of them alone",
    )


def _shape(image: bytes) -> dict[str, int]:
    """What has a name in a code object, and its size: the same in every build of one text."""
    return {name: piece.size for name, piece in pieces_of(image).items() if not name.startswith(".")}
