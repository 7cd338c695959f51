"""Reading Parquet files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.report.arrow_table import read_parquet

READ_AND_COUNT_THREADS = """
import sys
from pathlib import Path
from rocm_perf_lab.report.arrow_table import read_parquet
rows = read_parquet(Path(sys.argv[1]), ["a"]).num_rows
names = [(one / "comm").read_text() for one in Path("/proc/self/task").iterdir()]
print(rows, sum(name == Path("/proc/self/comm").read_text() for name in names))
"""


def test_reading_is_the_opposite_of_writing(tmp_path):
    table = pa.table({"a": range(5), "b": pa.array(["x", None, "y", "x", "x"]).dictionary_encode()})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert read_parquet(tmp_path / "t.parquet") == table
    assert read_parquet(tmp_path / "t.parquet", ["b"]) == table.select(["b"])


def test_a_damaged_file_is_named_with_a_remedy(tmp_path):
    parquet.write_table(pa.table({"a": range(5)}), tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(TraceError, match=r"t\.parquet cannot be read") as raised:
        read_parquet(tmp_path / "t.parquet")
    assert raised.value.hint == "profile the program again"


def test_reading_starts_no_threads_that_could_keep_the_process_from_ending(tmp_path):
    columns = {name: range(100_000) for name in "abcd"}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=10_000)
    command = [sys.executable, "-c", READ_AND_COUNT_THREADS, str(tmp_path / "t.parquet")]
    without_openblas = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # its threads end with the interpreter
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=without_openblas)
    assert done.stdout.split() == ["100000", "1"]


def test_only_this_module_reads_parquet_files():
    """Other functions of pyarrow's read by threads."""
    package = Path(__file__).parents[2] / "src" / "rocm_perf_lab"
    sources = {path.name: path.read_text() for path in package.rglob("*.py")}
    readers = r"\.read_table\(|ParquetFile\(|ParquetDataset\(|dataset\("
    assert [name for name, text in sources.items() if re.search(readers, text)] == ["arrow_table.py"]
