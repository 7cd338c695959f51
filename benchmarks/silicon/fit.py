"""Fits parameters of the timing model to recorded times by bounded least squares.

The model is linearised: the logarithm of each time, as a function of the logarithms of the parameters, is assumed to be linear
between the table's value and a value one step away. Residuals are logarithms of modelled over recorded times. Large ones count
less (soft L1), so that a program which the model does not describe does not spoil the rest. A parameter may move as far as the
uncertainty of its source allows, and one additional point per parameter pulls it towards its source's value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

_STEP = math.log(1.25)
_LARGE = 0.15  # residuals larger than this count less than their square
_PRIOR = 0.1  # residual of a parameter at the limit set by its uncertainty


@dataclass(frozen=True)
class Parameter:
    """A parameter to fit. value: the table's value. uncertainty: relative, as in the table."""

    name: str
    value: float
    uncertainty: float

    @property
    def reach(self) -> float:
        """How far the parameter's logarithm may move."""
        return math.log1p(self.uncertainty)

    def stepped(self) -> float:
        return self.value * math.exp(_STEP)


@dataclass(frozen=True)
class Linearised:
    """base: logarithm of modelled over recorded time [point]. slopes: its change per unit of a parameter's logarithm
    [point, parameter].
    """

    parameters: Sequence[Parameter]
    base: np.ndarray
    slopes: np.ndarray

    def fitted(self, chosen: np.ndarray) -> dict[str, float]:
        """The parameters that fit the points where `chosen` holds."""
        reach = np.array([parameter.reach for parameter in self.parameters])
        base, slopes = self.base[chosen], self.slopes[chosen]

        def residuals(moved: np.ndarray) -> np.ndarray:
            return np.concatenate([base + slopes @ moved, _PRIOR * moved / reach])

        solution = least_squares(residuals, np.zeros(len(reach)), bounds=(-reach, reach), loss="soft_l1", f_scale=_LARGE)
        return {
            parameter.name: parameter.value * math.exp(moved)
            for parameter, moved in zip(self.parameters, solution.x, strict=True)
        }


def linearised(
    parameters: Sequence[Parameter], recorded: Sequence[float], base: Sequence[float], stepped: Mapping[str, Sequence[float]]
) -> Linearised:
    """Linearise the model. recorded: the recorded times. base: the times modelled with the table's values. stepped: by a
    parameter's name, the times modelled with that parameter one step larger. All are in the same order and unit.
    """
    log_base = np.log(base)
    slopes = [(np.log(stepped[parameter.name]) - log_base) / _STEP for parameter in parameters]
    return Linearised(parameters, log_base - np.log(recorded), np.stack(slopes, axis=1))
