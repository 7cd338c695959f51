"""Launches for numbers larger than the captured ones, by hand: rules of one number n; the baseline launches n work-items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from rocm_perf_lab.gate.source.launch_coverage import launches_too_little
from rocm_perf_lab.gate.source.launch_rule import LaunchRules
from rocm_perf_lab.hip_source.integer_expression import IntegerType, LaunchArgument, NoValueError
from rocm_perf_lab.replaying import LaunchConfiguration

INT = IntegerType(32, True)


@dataclass
class Rule:
    """groups: the number of workgroups of this size for each n; None where no launch is possible."""

    groups: Callable[[int], int | None]
    size: int = 256
    kind: IntegerType = INT

    def launch_of(self, values) -> LaunchConfiguration:
        (n,) = values.values()
        if (count := self.groups(n)) is None:
            raise NoValueError("n is too large")
        return LaunchConfiguration((count, 1, 1), (self.size, 1, 1))

    def launch(self, captured: int) -> LaunchConfiguration:
        return self.launch_of({None: captured})

    def arguments(self, captured: int):
        return {LaunchArgument(0, self.kind, self.kind, "n"): captured}


def over(size: int) -> Callable[[int], int]:
    return lambda n: -(-n // size)


BASELINE = Rule(over(256))


def complaint(after: Rule, *captured: int, before: Rule = BASELINE) -> str | None:
    return launches_too_little(LaunchRules(before, after), captured)


@pytest.mark.parametrize(
    "after",
    [
        BASELINE,
        Rule(over(128), 128),
        Rule(over(512), 512),
        Rule(over(1024), 256),  # each work-item does the work of four of the baseline's, in the captured dispatch as well
        Rule(lambda n: 2 * over(256)(n)),
        Rule(lambda n: n // 256),  # good enough: the last workgroup may have had nothing to do; smaller numbers show that
        Rule(lambda n: None if n > 8 * 4096 + 1 else over(256)(n)),  # up to the factor 8
    ],
)
def test_a_launch_that_covers_as_much_is_large_enough(after):
    assert complaint(after, 4096) is None


@pytest.mark.parametrize(
    "after, said",
    [
        (Rule(lambda n: 16), "n = 8192 it is 16 workgroups of 256, and the baseline's is 32 workgroups of 256"),
        (Rule(lambda n: min(over(256)(n), 100)), "n = 32768 it is 100 workgroups of 256, and the baseline's is 128"),
        (Rule(lambda n: min(over(256)(n), 900)), "n = 262144 it is 900 workgroups of 256, and the baseline's is 1024"),
        (
            Rule(lambda n: over(256)(n) if n < 9000 else over(512)(n)),
            "n = 12288 it is 24 workgroups of 256, and the baseline's is 48",
        ),
    ],
)
def test_a_launch_that_does_not_grow_is_named(after, said):
    found = complaint(after, 4096)
    assert found is not None and found.startswith("its launch does not grow as the baseline's does: with ") and said in found


def test_a_launch_that_is_impossible_where_the_baselines_is_possible():
    after = Rule(lambda n: None if n > 4096 * 8 else over(256)(n))
    assert complaint(after, 4096) == "its launch is not possible with n = 32769, where the baseline's is: n is too large"
    assert complaint(after, 4096, before=after) is None


def test_numbers_that_the_variable_cannot_hold_are_left_out():
    short = IntegerType(16, True)
    after = Rule(lambda n: min(over(256)(n), 128), kind=short)
    assert complaint(after, 4096, before=Rule(over(256), kind=short)) is None
    assert complaint(Rule(lambda n: min(over(256)(n), 128)), 4096) is not None


def test_the_largest_share_of_a_work_item_in_any_judged_dispatch_counts():
    after = Rule(over(1024))
    assert complaint(after, 256) is not None  # one workgroup for one of the baseline's
    assert complaint(after, 256, 4096) is None and complaint(after, 4096, 256) is None  # judged with four items per work-item


@pytest.mark.parametrize("groups, is_enough", [(7, False), (8, True), (9, True)])
def test_one_of_many_workgroups_may_be_ignored(groups, is_enough):
    """A launch with one workgroup fewer for every larger number."""
    after = Rule(lambda n: over(256)(n) - (n > 256 * groups))
    assert (complaint(after, 256 * groups) is None) == is_enough
