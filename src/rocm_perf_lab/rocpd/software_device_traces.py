"""Recognises traces that were recorded on a software device by a profiler that does not know the device."""

from __future__ import annotations

from rocm_perf_lab.rocpd import validate
from rocm_perf_lab.rocpd.connect import Connection, table
from rocm_perf_lab.rocpd.software_model_name import SOFTWARE_MODEL


def software_device(connection: Connection) -> str | None:
    """ "software gfx942" if the trace's first GPU is a software device; None for hardware, or if no model name was recorded."""
    agents = table(connection, "info_agent")
    columns = {row[1] for row in connection.execute(f'PRAGMA table_info("{agents}")')}
    if "model_name" not in columns:
        return None
    first = connection.execute(f"SELECT name, model_name FROM \"{agents}\" WHERE type = 'GPU' ORDER BY id LIMIT 1").fetchone()
    is_software = first is not None and validate.text(first[1]).replace("-", " ") == SOFTWARE_MODEL
    return f"software {validate.text(first[0])}" if is_software else None
