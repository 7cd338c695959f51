"""The pool of a search guided by a model: coordinates, neighbours, and configurations proposed before."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.autotune import candidate_pool
from rocm_perf_lab.autotune.candidate_pool import CandidatePool
from rocm_perf_lab.autotune.space import Space

# c has only one value, so it is not a coordinate.
SPACE = Space({"a": [1, 2, 4], "b": ["left", "right"], "c": [7]})


def pool(space: Space = SPACE, features=None) -> CandidatePool:
    return CandidatePool(space, np.random.default_rng(0), features)


def rows(of: CandidatePool, positions) -> list[tuple[int, ...]]:
    return [tuple(of.rows[at].tolist()) for at in positions]


def test_coordinates_are_positions_in_the_lists_scaled_to_1():
    found = pool()
    assert found.is_complete and found.rows.dtype == np.int16
    assert found.rows.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [2, 0, 0], [2, 1, 0]]
    assert found.points.tolist() == [[0, 0], [0, 1], [0.5, 0], [0.5, 1], [1, 0], [1, 1]] and found.points.dtype == np.float32
    assert found.index_of == {row: number for number, row in enumerate(rows(found, range(6)))}


def test_features_that_vary_are_coordinates_too():
    """The second is the same everywhere."""
    found = pool(features=lambda values: (float(values["a"]), 3.0, float(values["b"] == "left")))
    assert found.points[:, 2].tolist() == pytest.approx([0, 0, 1 / 3, 1 / 3, 1, 1])
    assert found.points[:, 3].tolist() == [1, 0] * 3 and found.points.shape == (6, 4)


def test_neighbours_differ_in_one_parameter_or_in_two():
    found = pool()
    one, two = found.neighbours_of(found.index_of[0, 0, 0])
    assert rows(found, one) == [(0, 1, 0), (1, 0, 0), (2, 0, 0)] and rows(found, two) == [(1, 1, 0), (2, 1, 0)]
    again = found.neighbours_of(found.index_of[0, 0, 0])
    assert again[0] is one and again[1] is two
    assert rows(found, found.neighbours_of(found.index_of[2, 1, 0])[0]) == [(0, 1, 0), (1, 1, 0), (2, 0, 0)]


def test_configurations_that_differ_in_three_parameters_are_no_neighbours():
    found = pool(Space({"a": [1, 2], "b": [1, 2], "c": [1, 2]}))
    one, two = found.neighbours_of(found.index_of[0, 0, 0])
    assert rows(found, one) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)] and rows(found, two) == [(0, 1, 1), (1, 0, 1), (1, 1, 0)]


def test_a_configuration_that_was_proposed_is_no_longer_a_candidate():
    found = pool()
    found.exclude([(0, 1, 0), (2, 1, 0)])
    assert found.unasked().tolist() == [0, 2, 3, 4]
    assert found.unasked(np.array([5, 4, 1, 0])).tolist() == [4, 0]


def sampled(monkeypatch, most: int = 2) -> CandidatePool:
    """A pool with some of the configurations of a space that holds more than `most`."""
    monkeypatch.setattr(candidate_pool, "_MAX_CONFIGURATIONS", most)
    return pool(Space({"a": [1, 2, 4], "b": ["left", "right"]}))


def test_a_pool_of_a_large_space_grows_by_neighbours(monkeypatch):
    found = sampled(monkeypatch)
    assert len(found.rows) == 2 and not found.is_complete
    found.add([(0, 0)])
    before = rows(found, range(len(found.rows)))
    found.exclude([(0, 0)])
    assert found.neighbours_of(found.index_of[0, 0]) is found.neighbours_of(found.index_of[0, 0])
    found.add_neighbours([(0, 0)])
    after = rows(found, range(len(found.rows)))
    assert after[: len(before)] == before and {(0, 0), (0, 1), (1, 0), (2, 0)} <= set(after) and len(set(after)) == len(after)
    assert found.index_of == {row: number for number, row in enumerate(after)}
    assert found.index_of[0, 0] not in found.unasked() and len(found.unasked()) == len(after) - 1
    assert set(rows(found, found.neighbours_of(found.index_of[0, 0])[0])) == {(0, 1), (1, 0), (2, 0)}
    assert len(found.points) == len(after)


def test_configurations_in_the_pool_are_not_added_again(monkeypatch):
    found = sampled(monkeypatch)
    found.add([(0, 0), (1, 1), (0, 0)])
    count, points = len(found.rows), found.points
    found.add(rows(found, range(count)))
    found.add([])
    assert len(found.rows) == count and found.points is points


def test_neighbours_of_a_configuration_are_searched_for_once(monkeypatch):
    found, asked = sampled(monkeypatch), []
    monkeypatch.setattr(found._space, "neighbours", lambda row: asked.append(row) or [])
    found.add_neighbours([(0, 0), (1, 0)])
    found.add_neighbours([(1, 0), (2, 0)])
    assert asked == [(0, 0), (1, 0), (2, 0)]


def test_a_pool_that_has_all_needs_no_neighbours(monkeypatch):
    found = sampled(monkeypatch, most=6)
    assert found.is_complete and len(found.rows) == 6
    monkeypatch.setattr(found._space, "neighbours", None)
    found.add_neighbours([(0, 0)])
    assert len(found.rows) == 6
