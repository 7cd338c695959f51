"""Configurations as numbers for a model. Static only: what is known before a run."""

from __future__ import annotations

import numpy as np

from rocm_perf_lab.autotune.space import Space


def numeric(space: Space, configurations: np.ndarray) -> np.ndarray:
    """float32 (count, parameters): the values themselves, positions where a parameter is not all numbers."""
    columns = []
    for place, choices in enumerate(space.values):
        is_number = all(isinstance(value, (int, float)) for value in choices)
        table = np.array(choices if is_number else range(len(choices)), np.float32)
        columns.append(table[configurations[:, place]])
    return np.stack(columns, axis=1)


def with_products(space: Space, configurations: np.ndarray) -> np.ndarray:
    """numeric() without what never varies, and the products of any two parameters that are always positive.

    Kernels care about products: threads of a workgroup, elements of a tile.
    """
    values = numeric(space, configurations)
    values = values[:, [place for place, size in enumerate(space.sizes) if size > 1]]
    positive = [place for place in range(values.shape[1]) if len(values) and values[:, place].min() > 0]
    products = [values[:, a] * values[:, b] for number, a in enumerate(positive) for b in positive[number + 1 :]]
    return np.column_stack([values, *products]).astype(np.float32)
