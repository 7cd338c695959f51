"""Lines about the proposals that were not judged: one line per reason, however many proposals it applies to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_TIMED = re.compile(r"(?P<share>[\d.]+% (?:saved|slower)) on the captured inputs; (?P<why>.+)", re.DOTALL)


def group_by_reason(passed_over: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Pairs of a reason and the proposals to which it applies, in order of first occurrence. passed_over: (description, reason)
    of each proposal.
    """
    groups: dict[str, list[str]] = {}
    for description, reason in passed_over:
        timed = _TIMED.fullmatch(reason)
        text = f"{description} ({timed['share']})" if timed else description
        groups.setdefault(f"{timed['why']}, on the captured inputs" if timed else reason, []).append(text)
    for reason, texts in groups.items():
        yield reason, "; ".join(texts)
