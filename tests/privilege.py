"""Makes permissions apply to root, too, as tests in a container need it: for subprocess.run's preexec_fn."""

from __future__ import annotations

import ctypes


def without_privilege() -> None:
    """In a child: from its next exec on, it may not override file permissions."""
    drop_from_bounding_set, override_permissions, read_and_search = 24, 1, 2  # prctl(2), capabilities(7)
    for capability in (override_permissions, read_and_search):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, capability)
