"""Copies of captured buffers, to be changed and laid over the captured memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer
from rocm_perf_lab.gate.equivalence.perturbation import Field
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from rocm_perf_lab.gate.equivalence.numbers import Bytes, Numbers


class OverlayBuilder:
    """Copies of buffers: each buffer whose numbers are requested for writing becomes an overlay."""

    def __init__(self, capture: Capture):
        self._capture = capture
        self._bytes: dict[Buffer, Bytes] = {}

    def captured(self, field: Field) -> Numbers:
        """The field's captured numbers, for reading; see Buffer.view()."""
        return field.buffer.view(self._copy(field.buffer), field.leaf)

    def numbers(self, field: Field) -> Numbers:
        """The field's numbers as a view of the contents, for writing."""
        buffer = field.buffer
        if buffer not in self._bytes:
            self._bytes[buffer] = self._copy(buffer)
        return buffer.view(self._bytes[buffer], field.leaf)

    @property
    def overlays(self) -> tuple[tuple[int, bytes], ...]:
        """(address, bytes) of each buffer that was requested for writing."""
        return tuple((buffer.address, content.tobytes()) for buffer, content in self._bytes.items())

    def _copy(self, buffer: Buffer) -> Bytes:
        return np.frombuffer(self._capture.memory(buffer.address, buffer.size), np.uint8).copy()
