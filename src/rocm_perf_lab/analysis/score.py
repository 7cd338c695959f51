"""How strongly a statement holds, 0 to 1, as far as it is known.

Statements are joined as in fuzzy logic: 'and' is the least, 'or' the most, 'not' is 1 minus. 0.5 is where a statement starts
to hold, so exactly one of a statement and its negation does. What is not known could be anything: `least` and `most`
are bounds over everything that it could be, which joining keeps exact because all three are monotone.
Source: Zadeh, "Fuzzy Sets", Information and Control 8, 1965.
"""

from __future__ import annotations

from dataclasses import dataclass

HOLDS = 0.5


@dataclass(frozen=True)
class Score:
    """estimate: from what is known; None if that says nothing. least, most: bounds, whatever the rest turns out to be."""

    estimate: float | None
    least: float
    most: float

    @classmethod
    def known(cls, strength: float) -> Score:
        return cls(strength, strength, strength)

    @property
    def holds(self) -> bool:
        return self.estimate is not None and self.estimate >= HOLDS

    def __invert__(self) -> Score:
        return Score(None if self.estimate is None else 1 - self.estimate, 1 - self.most, 1 - self.least)

    def __or__(self, other: Score) -> Score:
        """Either. What is unknown is taken not to add to what is known."""
        known = [score.estimate for score in (self, other) if score.estimate is not None]
        return Score(max(known, default=None), max(self.least, other.least), max(self.most, other.most))

    def __and__(self, other: Score) -> Score:
        """Both. Unknown if one is unknown and the other holds; if the other does not, neither do both."""
        known = [score.estimate for score in (self, other) if score.estimate is not None]
        decided = len(known) == 2 or (known and known[0] < HOLDS)
        return Score(min(known) if decided else None, min(self.least, other.least), min(self.most, other.most))

    def provided(self, other: Score) -> Score:
        """Both, but where the other is unknown, this one is estimated alone."""
        both = self & other
        return Score(self.estimate if other.estimate is None else both.estimate, both.least, both.most)

    def unless(self, other: Score) -> Score:
        return self.provided(~other)

    def otherwise(self, other: Score) -> Score:
        """This one; where it is unknown, the other's estimate, which does not narrow the bounds."""
        return self if self.estimate is not None else Score(other.estimate, self.least, self.most)


UNKNOWN = Score(None, 0.0, 1.0)


def strength(value: float, none: float, threshold: float, full: float) -> float:
    """0 at `none`, 0.5 at `threshold`, 1 at `full`, straight in between. none > full: the less, the stronger."""
    if none > full:
        value, none, threshold, full = -value, -none, -threshold, -full
    if value < threshold:
        return HOLDS * max(0.0, (value - none) / (threshold - none))
    return HOLDS + HOLDS * min(1.0, (value - threshold) / (full - threshold)) if full > threshold else 1.0
