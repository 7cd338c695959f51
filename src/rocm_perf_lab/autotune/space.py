"""A search space: parameters, their values, and rules. A configuration is a tuple of positions in the lists of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

Configuration = tuple[int, ...]
MAX_LISTED = 10_000_000

_PATIENCE = 200  # random draws per requested configuration; after these, the space is listed instead
_MIN_DRAWS = 2000


@dataclass(frozen=True)
class Rule:
    """holds() receives the values by name, and uses only the parameters in `names`."""

    names: frozenset[str]
    holds: Callable[[Mapping[str, object]], bool]


class Space:
    """values: the choices for each parameter. fixed: other values that rules may use. members: if given, all valid
    configurations; rules are then ignored.
    """

    def __init__(
        self,
        values: Mapping[str, Sequence[object]],
        rules: Iterable[Rule] = (),
        fixed: Mapping[str, object] | None = None,
        members: Collection[Configuration] | None = None,
    ):
        self.names = tuple(values)
        self.values = tuple(tuple(choices) for choices in values.values())
        self.sizes = tuple(map(len, self.values))
        self.product = math.prod(self.sizes)
        self._fixed = dict(fixed or {})
        self._members = None if members is None else frozenset(members)
        self._arguments = (values, tuple(rules), fixed, members)
        rules = self._arguments[1]
        self._rules: list[list[Rule]] = [[] for _ in range(len(self.names) + 1)]
        position = {name: number for number, name in enumerate(self.names, start=1)}
        for rule in rules:  # each rule is stored with the parameter after which it can be checked
            self._rules[max((position.get(name, 0) for name in rule.names), default=0)].append(rule)

    def restricted(self, rule: Rule) -> Space:
        """The part of this space that also satisfies `rule`. Only for spaces without `members`."""
        values, rules, fixed, members = self._arguments
        return Space(values, (*rules, rule), fixed, members)

    def named(self, configuration: Configuration) -> dict[str, object]:
        """The values by name, without the fixed values."""
        return {name: choices[index] for name, choices, index in zip(self.names, self.values, configuration, strict=True)}

    def configuration_of(self, values: Mapping[str, object]) -> Configuration:
        """The configuration for which named() returns `values`. Raises KeyError or ValueError if there is none."""
        return tuple(choices.index(values[name]) for name, choices in zip(self.names, self.values, strict=True))

    def __contains__(self, configuration: Configuration) -> bool:
        if self._members is not None:
            return configuration in self._members
        values = self._fixed | self.named(configuration)
        return all(rule.holds(values) for rules in self._rules for rule in rules)

    def __iter__(self) -> Iterator[Configuration]:
        """Every valid configuration, lazily, in lexicographic order."""
        if self._members is not None:
            yield from sorted(self._members)
        elif all(rule.holds(self._fixed) for rule in self._rules[0]):
            yield from self._extend((), dict(self._fixed))

    def _extend(self, head: Configuration, values: dict[str, object]) -> Iterator[Configuration]:
        depth = len(head)
        if depth == len(self.names):
            yield head
            return
        for index, value in enumerate(self.values[depth]):
            values[self.names[depth]] = value
            if all(rule.holds(values) for rule in self._rules[depth + 1]):
                yield from self._extend((*head, index), values)

    def is_empty(self) -> bool:
        return next(iter(self), None) is None

    @cached_property
    def listed(self) -> Integers | None:
        """All valid configurations, as an int16 array (count, parameters); None if there are more than MAX_LISTED."""
        rows, blocks = [], []
        for number, configuration in enumerate(self, start=1):
            if number > MAX_LISTED:
                return None
            rows.append(configuration)
            if len(rows) == 100_000:  # tuples take ten times as much memory
                blocks.append(np.array(rows, np.int16))
                rows = []
        blocks.append(np.array(rows, np.int16).reshape(-1, len(self.names)))
        return np.concatenate(blocks)

    def sample(
        self, generator: np.random.Generator, count: int, exclude: Collection[Configuration] = frozenset()
    ) -> list[Configuration]:
        """Up to `count` different valid configurations that are not in `exclude`, all equally likely."""
        sampled: dict[Configuration, None] = {}
        draws = _PATIENCE * count + _MIN_DRAWS
        while len(sampled) < count and draws > 0:
            block = generator.integers(0, self.sizes, (min(draws, 4 * count + 16), len(self.sizes)))
            draws -= len(block)
            for configuration in map(tuple, block.tolist()):
                if (
                    len(sampled) < count
                    and configuration not in sampled
                    and configuration not in exclude
                    and configuration in self
                ):
                    sampled[configuration] = None
        if len(sampled) < count and self.listed is not None:
            remaining = [row for row in map(tuple, self.listed.tolist()) if row not in exclude and row not in sampled]
            chosen = generator.permutation(len(remaining))[: count - len(sampled)]
            sampled |= {remaining[index]: None for index in chosen}
        return list(sampled)

    def pool(self, generator: np.random.Generator, limit: int) -> tuple[Integers, bool]:
        """(all valid configurations or, if there are more than `limit`, a sample of that size; whether that is all of them)."""
        if self.product <= MAX_LISTED // 10 and self.listed is not None and len(self.listed) <= limit:
            return self.listed, True
        sampled = self.sample(generator, limit)
        return np.array(sampled, np.int16).reshape(-1, len(self.names)), len(sampled) < limit

    def neighbours(self, configuration: Configuration) -> Iterator[Configuration]:
        """Valid configurations that differ from this one in exactly one parameter."""
        for parameter, size in enumerate(self.sizes):
            for index in range(size):
                other = (*configuration[:parameter], index, *configuration[parameter + 1 :])
                if index != configuration[parameter] and other in self:
                    yield other
