"""The table of all dispatches as Arrow columns, and as a Parquet file; needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.extras import missing_extra
from rocm_perf_lab.report.dispatch_table import TYPES, Column, DispatchTable, Piece

if TYPE_CHECKING:
    import pyarrow as pa

    from rocm_perf_lab.arrays import Integers, Mask

_DICTIONARIES = ("kind", "name", "agent", "queue", "stream", "workgroup", "grid")  # columns that have few distinct values
_DELTAS = ("id", "start_ns", "end_ns")
_ROW_GROUP = 1_000_000


def arrow_table(table: DispatchTable) -> pa.Table:
    """All rows at once. Raises UnavailableError without pyarrow."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise missing_extra("an Arrow table needs the Python package pyarrow", "parquet") from error
    return pa.Table.from_batches(_batches(table), _schema())


def write_parquet(table: DispatchTable, path: Path) -> None:
    """Write a Parquet file. The same table always yields the same bytes. Raises ImportError without pyarrow."""
    from pyarrow import parquet

    options = {
        "compression": "zstd", "compression_level": 1, "use_dictionary": list(_DICTIONARIES),
        "column_encoding": dict.fromkeys(_DELTAS, "DELTA_BINARY_PACKED"),
    }  # fmt: skip
    # Python opens the file, because the path may contain arbitrary bytes, whereas Arrow requires text.
    with path.open("wb") as file, parquet.ParquetWriter(file, _schema(), **options) as writer:
        for batch in _batches(table):
            writer.write_batch(batch, row_group_size=_ROW_GROUP)


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file, or some of its columns, on the calling thread. Raises TraceError if it cannot be read or is damaged,
    ImportError without pyarrow.

    parquet.read_table() reads through threads of Arrow's, which may release their last buffer only when the process exits. They
    then wait forever for an interpreter that has ended, and the exiting process waits for them (seen with Python 3.14).
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with path.open("rb") as file, parquet.ParquetFile(file, pre_buffer=False) as opened:
            return opened.read(columns=columns, use_threads=False)
    except (OSError, pa.ArrowInvalid) as error:
        raise TraceError(f"{path} cannot be read ({error})", "profile the program again") from error


def _schema() -> pa.Schema:
    import pyarrow as pa

    texts = {"kind": pa.dictionary(pa.int8(), pa.string()), "name": pa.dictionary(pa.int32(), pa.string())}
    return pa.schema({name: texts.get(name) or pa.type_for_alias(kind) for name, kind in TYPES.items()})


def _batches(table: DispatchTable) -> Iterator[pa.RecordBatch]:
    schema = _schema()
    for rows, piece in table.pieces():
        yield _batch(rows, piece, schema)


def _batch(rows: int, piece: Piece, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = [_array(piece[field.name], field.type, rows) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(column: Column | None, kind: pa.DataType, rows: int) -> pa.Array:
    import pyarrow as pa

    if column is None:
        return pa.nulls(rows, kind)
    if column.texts is not None:
        numbers = _array_of_memory(column, kind.index_type, rows)
        return pa.DictionaryArray.from_arrays(numbers, pa.array(column.texts, pa.string()))
    return _array_of_memory(column, kind, rows)


def _array_of_memory(column: Column, kind: pa.DataType, rows: int) -> pa.Array:
    """An array made from the column's memory, without pyarrow's conversions: loading their code takes longer than writing a
    small table.
    """
    import pyarrow as pa

    values = _bits(column.values) if pa.types.is_boolean(kind) else _converted(column.values, kind.to_pandas_dtype())
    known = None if column.unknown is None else pa.py_buffer(_bits(~column.unknown))
    return pa.Array.from_buffers(kind, rows, [known, pa.py_buffer(values)])


def _converted(values: Integers | Mask, kind: type[np.integer[Any]]) -> Integers:
    converted = np.ascontiguousarray(values, kind)
    if not np.can_cast(values.dtype, kind) and np.any(converted != values):
        raise OverflowError(f"a value does not fit into {np.dtype(kind)}")
    return converted


def _bits(values: Integers | Mask) -> Integers:
    return np.packbits(values, bitorder="little")
