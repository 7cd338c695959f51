"""What is wrong with a candidate's results."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.gate.verdict_document import DifferenceSection


@dataclass(frozen=True)
class Mismatch:
    """reason: human-readable. difference: where memory differs in `case`; stores: where the candidate stores to memory that the
    baseline does not write.
    """

    reason: str
    difference: DifferenceSection | None = None
    case: str | None = None
    stores: DifferenceSection | None = None

    @property
    def evidence(self) -> dict[str, object]:
        """Values for fields of EquivalenceEvidence."""
        values: dict[str, object] = {} if self.difference is None else {"difference": self.difference}
        values |= {} if self.case is None else {"case": self.case}
        stores = self.stores
        places = ("parameter", "address", "stored_bytes")
        return values | ({} if stores is None else {name: getattr(stores, name) for name in places})
