"""How strongly a statement holds, from 0 to 1, given what is known.

Statements are combined as in fuzzy logic: 'and' is the minimum, 'or' the maximum, 'not' is 1 minus the score. A statement holds
if its score is at least 0.5, so either it or its negation does (at exactly 0.5, both do). Unknown values could be anything:
`lower` and `upper` bound the score over all of their possible values, and remain bounds when scores are combined, because all
three operations are monotone.
Source: Zadeh, "Fuzzy Sets", Information and Control 8, 1965.
"""

from __future__ import annotations

from dataclasses import dataclass

HOLDS = 0.5


@dataclass(frozen=True)
class Score:
    """estimate: from the known values; None if they are not enough. lower, upper: bounds, whatever the unknown values are."""

    estimate: float | None
    lower: float
    upper: float

    @classmethod
    def known(cls, strength: float) -> Score:
        return cls(strength, strength, strength)

    @property
    def holds(self) -> bool:
        return self.estimate is not None and self.estimate >= HOLDS

    def __invert__(self) -> Score:
        return Score(None if self.estimate is None else 1 - self.estimate, 1 - self.upper, 1 - self.lower)

    def __or__(self, other: Score) -> Score:
        """Either statement holds. An unknown estimate adds nothing to a known one."""
        known = [score.estimate for score in (self, other) if score.estimate is not None]
        return Score(max(known, default=None), max(self.lower, other.lower), max(self.upper, other.upper))

    def __and__(self, other: Score) -> Score:
        """Both statements hold. If one is unknown, so is the result, unless the other is known not to hold."""
        known = [score.estimate for score in (self, other) if score.estimate is not None]
        decided = len(known) == 2 or (known and known[0] < HOLDS)
        return Score(min(known) if decided else None, min(self.lower, other.lower), min(self.upper, other.upper))

    def provided(self, other: Score) -> Score:
        """Both statements hold, but if the other is unknown, the estimate is that of this one alone."""
        both = self & other
        return Score(self.estimate if other.estimate is None else both.estimate, both.lower, both.upper)

    def unless(self, other: Score) -> Score:
        return self.provided(~other)

    def otherwise(self, other: Score) -> Score:
        """This score; if it is unknown, the other's estimate with this score's bounds."""
        return self if self.estimate is not None else Score(other.estimate, self.lower, self.upper)


UNKNOWN = Score(None, 0.0, 1.0)


def strength(value: float, none: float, threshold: float, full: float) -> float:
    """0 at `none`, 0.5 at `threshold`, 1 at `full`, linear in between. If none > full, smaller values are stronger."""
    if none > full:
        value, none, threshold, full = -value, -none, -threshold, -full
    if value < threshold:
        return HOLDS * max(0.0, (value - none) / (threshold - none))
    return HOLDS + HOLDS * min(1.0, (value - threshold) / (full - threshold)) if full > threshold else 1.0
