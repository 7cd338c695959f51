"""NumPy array types, named after what they hold."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.integer[Any]]  # int32 or int64, whichever the values need
Floats: TypeAlias = NDArray[np.float64]
Reals: TypeAlias = NDArray[np.floating[Any]]  # single or double precision
Mask: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = NDArray[np.object_]
