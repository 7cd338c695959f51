"""A trace from a software device is recognised as modelled by the agent's model alone, whichever tool recorded it."""

import sqlite3

import pytest

from rocm_perf_lab.rocpd.reader import read_trace


@pytest.fixture(scope="module")
def recorded(testbed, rocm_perf_in, tmp_path_factory):
    """A trace by the built-in tracer, without what it says about itself."""
    folder = tmp_path_factory.mktemp("recorded")
    rocm_perf_in(folder, "profile", "--no-deep-analysis", "-o", "run", testbed("vcopy"), "-n", 4096)
    database = folder / "run" / ".rocpd_profile" / "base_results.db"
    changed(database, "UPDATE rocpd_info_process SET extdata = '{}'")
    return database


def changed(database, statement):
    with sqlite3.connect(database) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        table = statement.split()[1]
        (name,) = [one for (one,) in tables if one.startswith(table)]
        connection.execute(statement.replace(table, f'"{name}"'))


def test_the_software_device_is_recognised_by_its_model(recorded):
    trace = read_trace(recorded)
    assert (trace.timing, trace.software_device, trace.collector) == ("modelled", "software gfx942", "rocprofv3")


@pytest.mark.parametrize("model", ["'ip discovery'", "NULL", "'a software device'"])
def test_another_model_is_hardware(recorded, model, tmp_path):
    other = tmp_path / "other.db"
    other.write_bytes(recorded.read_bytes())
    changed(other, f"UPDATE rocpd_info_agent SET model_name = {model}")
    trace = read_trace(other)
    assert (trace.timing, trace.software_device) == ("measured", None)
