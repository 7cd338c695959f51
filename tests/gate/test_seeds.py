"""Seeds for the gate's random choices: new each time unless one is given, and all derived from one number."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import GateLine
from rocm_perf_lab.optimize.run_seed import with_seed


@given(st.integers(0, (1 << 32) - 1))
def test_orders_differ_from_each_other_and_from_the_usual_one(seed):
    orders = seeds.orders(seed)
    assert len(set(orders)) == len(orders) == 2 and 0 not in orders and max(orders) < 1 << 32
    assert orders == seeds.orders(seed) == EquivalenceOptions(seed=seed).orders


@given(st.integers(0, (1 << 32) - 1), st.integers(2, 6))
def test_other_orders_begin_with_zeros_and_with_words(seed, runs):
    fills = seeds.initial_values(seed, runs)
    assert len(fills) == runs and fills == seeds.initial_values(seed, runs)
    assert 0 in fills[:2] and any(fills[:2]) and seeds.other_values(seed) not in (0, *fills)
    assert max(*fills, seeds.other_values(seed)) <= 1 << 32


def test_each_judgement_draws_its_own_seed():
    assert len({EquivalenceOptions().seed for _ in range(20)}) > 15


def test_a_resumed_run_keeps_its_seed(tmp_path):
    journal = Journal(tmp_path)
    drawn = with_seed(BackendOptions(), journal).seed
    assert drawn is not None and with_seed(BackendOptions(seed=7), journal).seed == 7
    lines = {"level": "full", "race_seeds": [1], "measurement_seed": 2, "max_regression": {}, "cage": "none"}
    journal.append(GateLine(kernel="k", seed=drawn, **lines))
    assert json.loads((tmp_path / "journal.jsonl").read_text())["seed"] == drawn
    assert with_seed(BackendOptions(), Journal(tmp_path)).seed == drawn
    assert with_seed(BackendOptions(seed=drawn), Journal(tmp_path)).seed == drawn
    with pytest.raises(UsageError, match=f"began with --seed {drawn}"):
        with_seed(BackendOptions(seed=drawn ^ 1), Journal(tmp_path))


def test_each_draw_is_one_of_its_own():
    for seed in range(20):
        one, other = seeds.orders(seed)
        assert len({one // 2, other // 2, seeds.other_values(seed), seeds.resampling(seed)}) == 4
    assert len({seeds.orders(seed) for seed in range(20)}) == len({seeds.resampling(seed) for seed in range(20)}) == 20
    assert {seeds.initial_values(seed, 2)[0] == 0 for seed in range(20)} == {True, False}
