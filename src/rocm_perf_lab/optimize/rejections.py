"""Remembers earlier runs' rejections, with their reasons, so that the same change to the same kernel is not judged again.

A rejection holds as long as nothing that it depends on changes: the tool's version, the device with its timing parameters, the
gate's options, the program's arguments, and the kernel's name, code (for HIP, machine code), number of dispatches and modelled
time. All of these are hashed into a fingerprint. Lines that cannot be read or have a different fingerprint are ignored, so the
proposal is simply judged again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.gate.verdict import StepVerdict
from rocm_perf_lab.hip_source import Edit
from rocm_perf_lab.json_model import TOLERANT, JsonModel, Text
from rocm_perf_lab.optimize.source_protocol import Kernel
from rocm_perf_lab.optimize.transforms import Proposal

FILE = "rejected.jsonl"


class Rejection(JsonModel):
    """A line of the file. run: the name of the run's folder."""

    model_config = TOLERANT

    fingerprint: str
    change: str
    description: Text
    step: str
    reason: Text
    run: str

    @property
    def in_words(self) -> str:
        return f"rejected before, in {self.run}: {self.step}: {self.reason}"


@dataclass(frozen=True)
class Rejections:
    """The recorded rejections for a program. folder: the folder with its runs. run: the current run, whose own rejections are
    in its journal. ignored: whether to ignore earlier rejections; new ones are recorded in any case.
    """

    folder: Path
    run: str
    ignored: bool = False

    def of(self, fingerprint: str, kernel: Kernel, proposal: Proposal) -> Rejection | None:
        """The last rejection of this change by an earlier run."""
        if self.ignored:
            return None
        wanted = (fingerprint, change_of(kernel, proposal))
        matches = [
            rejection
            for rejection in self._lines()
            if (rejection.fingerprint, rejection.change) == wanted and rejection.run != self.run
        ]
        return matches[-1] if matches else None

    def keep(self, fingerprint: str, kernel: Kernel, proposal: Proposal, rejection: StepVerdict) -> None:
        """Raises OutputError."""
        record = Rejection(
            fingerprint=fingerprint,
            change=change_of(kernel, proposal),
            description=proposal.description,
            step=rejection.step,
            reason=rejection.reason,
            run=self.run,
        )
        line = json.dumps(record.as_json(), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        path = self.folder / FILE
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(descriptor, line)  # in one write, so that the lines of two runs are not interleaved
            finally:
                os.close(descriptor)
        except OSError as error:
            raise OutputError(f"cannot write {path} ({error.strerror})", "free some space and use --resume") from error

    def _lines(self) -> Sequence[Rejection]:
        try:
            lines = (self.folder / FILE).read_bytes().splitlines()
        except OSError:
            return ()
        rejections = []
        for line in lines:
            try:
                rejections.append(Rejection.model_validate_json(line))
            except ValueError:
                continue
        return rejections


@dataclass(frozen=True)
class KernelRejections:
    """The rejections of changes to one kernel in its present state."""

    rejections: Rejections
    kernel: Kernel
    fingerprint: str

    def of(self, proposal: Proposal) -> Rejection | None:
        return self.rejections.of(self.fingerprint, self.kernel, proposal)

    def keep(self, proposal: Proposal, rejection: StepVerdict) -> None:
        """Raises OutputError."""
        self.rejections.keep(self.fingerprint, self.kernel, proposal, rejection)


def fingerprint_of(*parts: str | bytes) -> str:
    """A hash of everything that a rejection depends on."""
    hashed = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        hashed.update(len(content).to_bytes(8, "little") + content)
    return hashed.hexdigest()


def change_of(kernel: Kernel, proposal: Proposal) -> str:
    """A hash that identifies a change by its transformation, parameters, and edits with their positions in the kernel."""
    start = kernel.span.start
    edits = [[edit.start - start, edit.end - start, edit.text] for edit in proposal.edits if _is_inside(kernel, edit)]
    outside = sorted(edit.text for edit in proposal.edits if not _is_inside(kernel, edit))
    outside += sorted(edit.text for _, edit in proposal.other_edits)
    content = [proposal.transformation, sorted(proposal.parameters.items()), sorted(edits), outside]
    return fingerprint_of(json.dumps(content))


def _is_inside(kernel: Kernel, edit: Edit) -> bool:
    return kernel.span.start <= edit.start and edit.end <= kernel.span.end
