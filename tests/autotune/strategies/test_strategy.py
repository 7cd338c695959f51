"""What all strategies share: the first proposals, and what is known about occupancy."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.autotune import strategies
from rocm_perf_lab.autotune.space import Space
from rocm_perf_lab.autotune.strategies import Options, Strategy, create
from rocm_perf_lab.autotune.strategies.random import RandomSearch
from rocm_perf_lab.autotune.strategy_registry import STRATEGIES, defaults
from rocm_perf_lab.errors import UnavailableError

SPACE = Space({"a": range(20), "b": range(20)})


class Fixed(Strategy):
    """Proposes the same three configurations each time."""

    def ask(self):
        return [(1, 1), (2, 2), (3, 3)]


def made(kind=Fixed, **options) -> Strategy:
    return kind(SPACE, np.random.default_rng(0), Options(100, **options))


def test_configurations_that_were_good_in_similar_searches_are_proposed_first_and_once():
    strategy = made(first=[(2, 2), (9, 9)])
    assert strategy.propose() == [(2, 2), (9, 9), (1, 1), (3, 3)] and [*strategy.asked] == [(2, 2), (9, 9), (1, 1), (3, 3)]
    assert strategy.propose() == [(1, 1), (2, 2), (3, 3)] and strategy.model() == {}
    strategy.tell((1, 1), 2.5)
    strategy.tell((2, 2), None)
    assert strategy.times == {(1, 1): 2.5, (2, 2): None}


def test_of_four_times_as_many_draws_those_with_the_highest_occupancy_are_promising():
    drawn = SPACE.sample(np.random.default_rng(0), 12)
    best = sorted(drawn, key=lambda row: -row[0])[:3]
    found = made(occupancy=lambda values: values["a"]).promising(3)
    assert found == best and made().promising(3) == SPACE.sample(np.random.default_rng(0), 3)


def test_configurations_that_were_already_proposed_are_not_promising():
    strategy = made()
    strategy.asked = dict.fromkeys(SPACE)
    del strategy.asked[4, 7]
    assert strategy.promising(2) == [(4, 7)]


def test_random_search_draws_without_repetition():
    strategy = made(RandomSearch)
    batches = [strategy.propose() for _ in range(8)]
    assert [len(batch) for batch in batches] == [64] * 6 + [16, 0]
    assert len({row for batch in batches for row in batch}) == 400


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_is_created_with_its_own_options_or_their_defaults(name):
    found = create(name, SPACE, 3, Options(50))
    assert type(found).__name__ == STRATEGIES[name].name and found.options.own_options == defaults(name)
    again = create(name, SPACE, 3, Options(50, {"seed_fraction": 0.5}))
    assert again.options.own_options == defaults(name) | {"seed_fraction": 0.5} and again.options.budget == 50
    assert create(name, SPACE, 3, Options(50)).propose() == found.propose() != create(name, SPACE, 4, Options(50)).propose()


def test_a_strategy_whose_packages_are_missing_is_refused(monkeypatch):
    monkeypatch.setattr(strategies, "absent_modules", lambda extra: [extra])
    with pytest.raises(UnavailableError, match="the strategy three-phase needs scikit-learn"):
        create("three-phase", SPACE, 0, Options(10))
    create("random", SPACE, 0, Options(10))


def test_the_registry_names_the_strategies_that_the_command_line_accepts():
    assert defaults("three-phase") == {"seed_fraction": 0.2, "prune_factor": 1.75} and defaults("random") == {}
    seed, prune = STRATEGIES["three-phase"].options
    assert (seed.flag, prune.flag) == ("--seed-fraction", "--prune-factor")
    assert (seed.minimum, seed.maximum, seed.excludes_minimum) == (0, 1, True) and (
        prune.minimum,
        prune.maximum,
        prune.excludes_minimum,
    ) == (
        1,
        None,
        False,
    )
