"""The connection to a Dask cluster; Dask is an optional dependency."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rocm_perf_lab.errors import UnavailableError
from rocm_perf_lab.extras import missing_extra

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def client_of(scheduler: str) -> Iterator[Client]:
    """Connect to the scheduler at the address `scheduler`.

    Raises UnavailableError if Dask is missing or the scheduler cannot be reached.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise missing_extra("--scheduler needs Dask", "dask") from error
    try:
        client = Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        hint = "start one with `dask scheduler`, or check the address"
        raise UnavailableError(f"no Dask scheduler answers at {scheduler}", hint) from error
    with client:
        yield client
