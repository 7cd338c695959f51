"""rocprofv3's JSON output (`--output-format json`): one object per process under "rocprofiler-sdk-tool".

The records refer to kinds and operations by number, which "strings" maps to names, and to agents by handle, which "agents" maps
to nodes.
"""

from __future__ import annotations

import gzip
import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.importing.database import ImportedDispatch, ImportedKernel, RocpdDatabase, Size

SOURCE = "rocprofv3 (JSON)"
_ROOT = "rocprofiler-sdk-tool"
_HINT = "profile the program again, or give rocprofv3's database (`--output-format rocpd`)"
_TYPES = {1: "CPU", 2: "GPU"}
_CALLS = ("hip_api", "hsa_api")
Record = Mapping[str, Any]


def recognizes(path: Path) -> bool:
    """Whether the file looks like rocprofv3's JSON output, judged by its beginning."""
    try:
        with _open(path) as file:
            head: bytes = file.read(4096)
    except (OSError, EOFError):
        return False
    return _ROOT.encode() in head


def processes(path: Path) -> list[Record]:
    """One object for each process. Raises TraceError."""
    try:
        with _open(path) as file:
            parsed = json.load(file)[_ROOT]
    except (OSError, EOFError) as error:
        raise TraceError(f"cannot read {path} ({getattr(error, 'strerror', None) or error})", _HINT) from error
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise TraceError(f"{path} is not a complete JSON file of rocprofv3 ({error})", _HINT) from error
    return parsed if isinstance(parsed, list) else [parsed]


def convert(process: Record, path: Path, database: Path) -> list[str]:
    """Convert one process; nothing is left out. path: the JSON file, for reports and errors. Raises TraceError."""
    into = RocpdDatabase(database, SOURCE, path)
    try:
        _Conversion(process, into).run()
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise TraceError(f"{path} lacks what rocprofv3 writes ({type(error).__name__}: {error})", _HINT) from error
    finally:
        into.close()
    return []


def _open(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


class _Conversion:
    def __init__(self, process: Record, into: RocpdDatabase):
        self.process, self.into = process, into
        self.agents: dict[int, int] = {}  # handle -> node
        self.kernels: dict[int, int] = {}  # rocprofv3's id -> the database's
        self.counters = {counter["id"]["handle"]: counter["name"] for counter in process["counters"]}

    def run(self) -> None:
        metadata = self.process["metadata"]
        self.into.process(metadata["pid"], shlex.join(map(str, metadata.get("command", []))), metadata["node"]["hostname"])
        for agent in self.process["agents"]:
            self._agent(agent)
        symbols = {symbol["kernel_id"]: symbol for symbol in self.process["kernel_symbols"] if symbol["kernel_name"]}
        for id, symbol in symbols.items():
            self.kernels[id] = self.into.kernel(_symbol(symbol))
        records = self.process["buffer_records"]
        events = {dispatch["dispatch_info"]["dispatch_id"]: self._dispatch(dispatch) for dispatch in records["kernel_dispatch"]}
        for collected in self.process["callback_records"]["counter_collection"]:
            self._counters(collected, events)
        for copy in records["memory_copy"]:
            self._copy(copy)
        for call in self._calls(records):
            self._call(call)

    def _agent(self, agent: Record) -> None:
        node = agent["node_id"]
        self.agents[agent["id"]["handle"]] = node
        properties = {name: value for name, value in agent.items() if isinstance(value, int) or name == "uuid"}
        names = agent["name"], agent["product_name"]
        self.into.agent(node, _TYPES.get(agent["type"], "OTHER"), *names, properties, str(agent.get("model_name", "")))

    def _dispatch(self, record: Record) -> int:
        info = record["dispatch_info"]
        return self.into.dispatch(
            ImportedDispatch(
                kernel=self.kernels[info["kernel_id"]],
                agent=self.agents[info["agent_id"]["handle"]],
                start=record["start_timestamp"],
                end=record["end_timestamp"],
                workgroup=_size(info["workgroup_size"]),
                grid=_size(info["grid_size"]),
                lds_bytes=info["group_segment_size"],
                scratch_bytes=info["private_segment_size"],
                queue=info["queue_id"]["handle"],
                stream=record.get("stream_id", {}).get("handle"),
                call=record["correlation_id"]["internal"],
            )
        )

    def _counters(self, collected: Record, events: dict[int, int]) -> None:
        """Add a dispatch's counters. In a run with counters, only these records contain the dispatch itself."""
        data = collected["dispatch_data"]
        id = data["dispatch_info"]["dispatch_id"]
        if id not in events:
            events[id] = self._dispatch({"stream_id": collected.get("stream_id", {}), **data})
        for record in collected["records"]:
            self.into.counter(events[id], self.counters[record["counter_id"]["handle"]], record["value"])

    def _copy(self, copy: Record) -> None:
        self.into.copy(
            self._operation(copy),
            copy["start_timestamp"],
            copy["end_timestamp"],
            (self.agents.get(copy["src_agent_id"]["handle"]), self.agents.get(copy["dst_agent_id"]["handle"])),
            bytes=copy.get("bytes"),
            stream=copy.get("stream_id", {}).get("handle"),
            call=copy["correlation_id"]["internal"],
        )

    def _calls(self, records: Record) -> Iterator[Record]:
        seen = set()
        for kind in _CALLS:
            for call in records.get(kind, []):
                if (id := call["correlation_id"]["internal"]) not in seen:
                    seen.add(id)
                    yield call

    def _call(self, call: Record) -> None:
        arguments = [(argument["name"], str(argument["value"])) for argument in call.get("args", [])]
        self.into.call(
            call["correlation_id"]["internal"],
            call["thread_id"],
            self._operation(call),
            call["start_timestamp"],
            call["end_timestamp"],
            arguments,
        )

    def _operation(self, record: Record) -> str:
        return str(self.process["strings"]["buffer_records"][record["kind"]]["operations"][record["operation"]])


def _symbol(symbol: Record) -> ImportedKernel:
    name = symbol["formatted_kernel_name"] or symbol["demangled_kernel_name"]
    registers = (symbol["arch_vgpr_count"], symbol["accum_vgpr_count"], symbol["sgpr_count"])
    memory = (symbol["group_segment_size"], symbol["private_segment_size"])
    return ImportedKernel(symbol["kernel_name"], name, *registers, *memory, symbol["code_object_id"])


def _size(of: Record) -> Size:
    return of["x"], of["y"], of["z"]
