"""Whether a changed launch still covers the whole problem if the program's sizes are larger than the captured ones.

No replay can show that, as the buffers were allocated for the captured sizes: a grid that is right for these sizes alone passes
every replay. So both launch rules are evaluated for larger numbers. With these, the ratio of the baseline's work-items to the
candidate's must not exceed the largest ratio among the judged dispatches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from rocm_perf_lab.gate.source.launch_rule import LaunchRules
from rocm_perf_lab.hip_source.integer_expression import LaunchArgument, NoValueError
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replaying import LaunchConfiguration

_FACTORS = (2, 3, 5, 8, 16, 64)
_MANY_WORKGROUPS = 8  # workgroups; if there are at least this many, the last one in each dimension may be ignored
_MAX_COMMON_FACTOR = 8  # up to this factor, the candidate must be able to launch whatever the baseline can launch

Values = Mapping[LaunchArgument, int]


def launches_too_little(rules: LaunchRules, captures: Sequence[Capture]) -> str | None:
    """Why the candidate's launches may be too small for larger numbers; None if they are not. Raises NoValueError if a rule
    gives a captured dispatch no valid shape.
    """
    judged = max(
        Fraction(_work_items(rules.before.launch(capture)), _items_in_full_groups(rules.after.launch(capture)))
        for capture in captures
    )
    for capture in captures:
        captured = {**rules.before.arguments(capture), **rules.after.arguments(capture)}
        for factor, values in _larger_values(captured):
            if complaint := _falls_behind_at(rules, values, factor, judged):
                return complaint
    return None


def _falls_behind_at(rules: LaunchRules, values: Values, factor: int, judged: Fraction) -> str | None:
    where = ", ".join(f"{argument.name} = {value}" for argument, value in values.items())
    try:
        before = rules.before.launch_of(values)
    except NoValueError:
        return None
    try:
        after = rules.after.launch_of(values)
    except NoValueError as error:
        return (
            f"its launch is not possible with {where}, where the baseline's is: {error}"
            if factor <= _MAX_COMMON_FACTOR
            else None
        )
    if Fraction(_min_items_needed(before), _work_items(after)) <= judged:
        return None
    return (
        f"its launch does not grow as the baseline's does: with {where} it is {after}, and the baseline's is {before}. If the "
        "kernel works with any number of workgroups, or its grid grows only at larger sizes, use --also for larger sizes"
    )


def _larger_values(captured: Values) -> Iterator[tuple[int, dict[LaunchArgument, int]]]:
    """(factor, values): the captured values with one number, or all of them, multiplied by the factor, plus 0 or 1."""
    for chosen in [*([argument] for argument in captured), list(captured)]:
        for factor in _FACTORS:
            for more in (0, 1):
                values = {
                    argument: value * factor + more if argument in chosen else value for argument, value in captured.items()
                }
                if all(argument.type.holds(value) for argument, value in values.items()):
                    yield factor, values


def _work_items(launch: LaunchConfiguration) -> int:
    return math.prod(launch.items)


def _items_in_full_groups(launch: LaunchConfiguration) -> int:
    """The number of work-items, not counting the last workgroup in each dimension, which may have had next to nothing to do. If
    there are only a few workgroups, all of them count: each is too large a share of the total to be ignored.
    """
    last = 1 if math.prod(launch.groups) >= _MANY_WORKGROUPS else 0
    return math.prod(max(count - last, 1) * size for count, size in zip(launch.groups, launch.group_size, strict=True))


def _min_items_needed(launch: LaunchConfiguration) -> int:
    """The smallest number of work-items needed if no workgroup is superfluous: the last one in each dimension contributes a
    single work-item.
    """
    return math.prod((count - 1) * size + 1 for count, size in zip(launch.groups, launch.group_size, strict=True))
