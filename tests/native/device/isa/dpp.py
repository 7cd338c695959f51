"""DPP controls: the lane that each lane reads; -1 is out of bounds."""

from __future__ import annotations

from wave import LANES

import numpy as np

LANE = np.arange(LANES)
ROW, IN_ROW = LANE & ~15, LANE & 15

CONTROLS = {
    "quad_perm:[3,0,0,2]": LANE & ~3 | np.array([3, 0, 0, 2])[LANE & 3],
    "row_shl:1": np.where(IN_ROW < 15, LANE + 1, -1),
    "row_shl:15": np.where(IN_ROW < 1, LANE + 15, -1),
    "row_shr:3": np.where(IN_ROW >= 3, LANE - 3, -1),
    "row_ror:4": ROW | (IN_ROW - 4) % 16,
    "wave_shl:1": np.where(LANE < 63, LANE + 1, -1),
    "wave_shr:1": LANE - 1,
    "wave_rol:1": (LANE + 1) % 64,
    "wave_ror:1": (LANE - 1) % 64,
    "row_mirror": ROW | (15 - IN_ROW),
    "row_half_mirror": LANE & ~7 | (7 - (LANE & 7)),
    # A lane that receives no broadcast cannot be out of bounds: it reads itself.
    "row_bcast:15": np.where(LANE >= 16, ROW - 1, LANE),
    "row_bcast:31": np.where(LANE >= 32, 31, LANE),
    "row_newbcast:6": ROW | 6,
}
