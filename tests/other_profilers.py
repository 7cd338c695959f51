"""Traces as other profilers write them, made from one list of records with their names of columns and fields."""
# ruff: noqa: E501  # tables are wider than text

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

DISPATCHES = [
    # kernel, queue, stream, start, end, workgroup, grid, LDS, call
    ("scale(float*, int)", 1, 0, 1_000, 5_000, (64, 2, 1), (640, 4, 1), 512, 11),
    ("sum<int>(int const*, int*)", 2, 1, 4_000, 9_500, (256, 1, 1), (1024, 1, 1), 0, 12),
    ("scale(float*, int)", 1, 0, 10_000, 13_000, (64, 2, 1), (640, 4, 1), 512, 13),
]
REGISTERS = {"scale(float*, int)": (12, 4, 16), "sum<int>(int const*, int*)": (36, 0, 48)}
COUNTERS = [
    {"SQ_WAVES": 40.0, "TCC_HIT_sum": 7.5},
    {"SQ_WAVES": 16.0, "TCC_HIT_sum": 0.0},
    {"SQ_WAVES": 40.0, "TCC_HIT_sum": 9.0},
]
COPY = ("HOST_TO_DEVICE", 200, 900, 4096, 10)
CALLS = [("hipMemcpy", 10, 100, 950), ("hipLaunchKernel", 11, 960, 990), ("hipLaunchKernel", 12, 995, 999),
         ("hipLaunchKernel", 13, 2_000, 2_100), ("hipDeviceSynchronize", 14, 2_200, 13_500)]  # fmt: skip
PID, THREAD = 77, 78


def write_rows(path: Path, names: list[str], rows: list[tuple]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(names)
        writer.writerows(rows)


def write_rocprofv3_csv(folder: Path, prefix: str = "app", kernels: bool = True, counters: bool = True) -> None:
    write_rows(
        folder / f"{prefix}_agent_info.csv",
        ["Node_Id", "Logical_Node_Id", "Agent_Type", "Num_Xcc", "Cu_Count", "Device_Id", "Max_Engine_Clk_Fcompute", "Name", "Vendor_Name", "Product_Name"],
        [(0, 0, "CPU", 1, 2, 0, 3000, "EPYC", "CPU", "EPYC"), (3, 1, "GPU", 8, 304, 29857, 2100, "gfx942", "AMD", "AMD Instinct MI300X")],
    )  # fmt: skip
    if kernels:
        write_rows(
            folder / f"{prefix}_kernel_trace.csv",
            ["Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name", "Correlation_Id", "Start_Timestamp", "End_Timestamp",
             "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z", "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"],
            [("KERNEL_DISPATCH", "Agent 3", queue, stream, THREAD, number, 1, name, call, start, end, lds, 0, *REGISTERS[name], *workgroup, *grid)
             for number, (name, queue, stream, start, end, workgroup, grid, lds, call) in enumerate(DISPATCHES, 1)],
        )  # fmt: skip
    if counters:
        write_rows(
            folder / f"{prefix}_counter_collection.csv",
            ["Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id", "Grid_Size", "Kernel_Id", "Kernel_Name", "Workgroup_Size",
             "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "Counter_Name", "Counter_Value", "Start_Timestamp", "End_Timestamp"],
            [(call, number, "Agent 3", queue, PID, THREAD, grid[0] * grid[1], 1, name, workgroup[0] * workgroup[1], lds, 0, *REGISTERS[name], counter, value, start, end)
             for number, ((name, queue, _, start, end, workgroup, grid, lds, call), values) in enumerate(zip(DISPATCHES, COUNTERS, strict=True), 1) for counter, value in values.items()],
        )  # fmt: skip
    direction, start, end, _, call = COPY
    write_rows(
        folder / f"{prefix}_memory_copy_trace.csv",
        ["Kind", "Direction", "Stream_Id", "Source_Agent_Id", "Destination_Agent_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp"],
        [("MEMORY_COPY", f"MEMORY_COPY_{direction}", 0, "Agent 0", "Agent 3", call, start, end)],
    )  # fmt: skip
    write_rows(
        folder / f"{prefix}_hip_api_trace.csv",
        ["Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp"],
        [("HIP_RUNTIME_API_EXT", name, PID, THREAD, id, start, end) for name, id, start, end in CALLS],
    )


def write_rocprofv3_json(path: Path) -> None:
    def correlation(id: int) -> dict:
        return {"internal": id, "external": 0}

    def agent(handle: int, node: int, type: int, **more: object) -> dict:
        return {"id": {"handle": handle}, "node_id": node, "type": type, **more}

    def axes(size: tuple) -> dict:
        return dict(zip("xyz", size, strict=True))

    names = list(REGISTERS)
    counters = ["SQ_WAVES", "TCC_HIT_sum"]
    process = {
        "metadata": {"pid": PID, "command": ["./app", "3"], "node": {"hostname": "host"}},
        "agents": [agent(90, 0, 1, name="EPYC", product_name="EPYC", cu_count=2),
                   agent(91, 3, 2, name="gfx942", product_name="AMD Instinct MI300X", cu_count=304, num_xcc=8, device_id=29857, max_engine_clk_fcompute=2100)],
        "counters": [{"id": {"handle": 500 + number}, "name": name} for number, name in enumerate(counters)],
        "kernel_symbols": [{"kernel_id": 0, "kernel_name": ""}] + [
            {"kernel_id": number, "kernel_name": f"mangled{number}.kd", "formatted_kernel_name": name, "demangled_kernel_name": f"{name} [clone .kd]", "code_object_id": 2,
             "group_segment_size": 0, "private_segment_size": 0, **dict(zip(("arch_vgpr_count", "accum_vgpr_count", "sgpr_count"), REGISTERS[name], strict=True))}
            for number, name in enumerate(names, 1)],
        "strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", f"MEMORY_COPY_{COPY[0]}"]},
                                       {"kind": "HIP_RUNTIME_API", "operations": [name for name, *_ in CALLS]}]},
        "buffer_records": {
            "kernel_dispatch": [],
            "memory_copy": [{"kind": 1, "operation": 1, "correlation_id": correlation(COPY[4]), "start_timestamp": COPY[1], "end_timestamp": COPY[2],
                             "src_agent_id": {"handle": 90}, "dst_agent_id": {"handle": 91}, "bytes": COPY[3], "stream_id": {"handle": 0}}],
            "hip_api": [{"kind": 2, "operation": number, "correlation_id": correlation(id), "start_timestamp": start, "end_timestamp": end, "thread_id": THREAD}
                        for number, (_, id, start, end) in enumerate(CALLS)],
        },
        "callback_records": {"counter_collection": [
            {"thread_id": THREAD, "stream_id": {"handle": stream},
             "dispatch_data": {"correlation_id": correlation(call), "start_timestamp": start, "end_timestamp": end, "dispatch_info": {
                 "agent_id": {"handle": 91}, "queue_id": {"handle": queue}, "kernel_id": names.index(name) + 1, "dispatch_id": number,
                 "private_segment_size": 0, "group_segment_size": lds, "workgroup_size": axes(workgroup), "grid_size": axes(grid)}},
             # Two instances of each counter.
             "records": [{"counter_id": {"handle": 500 + counters.index(counter)}, "value": value / 2} for counter, value in COUNTERS[number - 1].items() for _ in "ab"]}
            for number, (name, queue, stream, start, end, workgroup, grid, lds, call) in enumerate(DISPATCHES, 1)]},
    }  # fmt: skip
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [process]}))


def write_compute_folder(folder: Path) -> None:
    """A workload folder of rocprof-compute: an L2 counter by instance, and launch columns repeated for the second pass."""
    folder.mkdir(exist_ok=True)
    write_rows(
        folder / "pmc_perf.csv",
        ["Dispatch_ID", "Kernel_Name", "GPU_ID", "Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup", "Scratch_Per_Workitem", "Arch_VGPR", "Accum_VGPR", "SGPR", "wave_size",
         "SQ_WAVES", "wave_size_1", "TCC_HIT[0]", "TCC_HIT[1]", "Start_Timestamp", "End_Timestamp"],
        [(number, f"{name} [clone .kd]", 2, grid[0] * grid[1], workgroup[0] * workgroup[1], lds, 0, *REGISTERS[name], 64, COUNTERS[number]["SQ_WAVES"], 64,
          COUNTERS[number]["TCC_HIT_sum"] / 2, COUNTERS[number]["TCC_HIT_sum"] / 2, start, end)
         for number, (name, _, _, start, end, workgroup, grid, lds, _) in enumerate(DISPATCHES)],
    )  # fmt: skip
    (folder / "sysinfo.csv").write_text(
        "workload_name,command,hostname,gpu_model,gpu_arch,cu_per_gpu,max_sclk,num_xcd\napp,./app 3,host,MI300X_A1,gfx942,304,2100,8\n"
    )


def write_rpd(path: Path) -> None:
    """Tables like those of rocmProfileData (schema_data/tableSchema.cmd there), without columns that do not matter."""
    connection = sqlite3.connect(path)
    connection.executescript("""
      CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
      INSERT INTO rocpd_metadata(tag, value) VALUES ('schema_version', '3');
      CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT);
      CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, "end" INTEGER, apiName_id INTEGER, args_id INTEGER);
      CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER, start INTEGER, "end" INTEGER, description_id INTEGER, opType_id INTEGER);
      CREATE TABLE rocpd_api_ops(id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER);
      CREATE TABLE rocpd_kernelapi(api_ptr_id INTEGER PRIMARY KEY, stream TEXT, gridX INTEGER, gridY INTEGER, gridZ INTEGER, workgroupX INTEGER, workgroupY INTEGER, workgroupZ INTEGER,
        groupSegmentSize INTEGER, privateSegmentSize INTEGER, kernelName_id INTEGER);
      CREATE TABLE rocpd_copyapi(api_ptr_id INTEGER PRIMARY KEY, stream TEXT, size INTEGER);
    """)
    strings: dict[str, int] = {}

    def string(text: str) -> int:
        if text not in strings:
            strings[text] = len(strings) + 1
            connection.execute("INSERT INTO rocpd_string VALUES (?, ?)", (strings[text], text))
        return strings[text]

    for name, id, start, end in CALLS:
        connection.execute(
            "INSERT INTO rocpd_api VALUES (?,?,?,?,?,?,?)", (id, PID, THREAD, start, end, string(name), string(""))
        )
    for number, (name, queue, stream, start, end, workgroup, grid, lds, call) in enumerate(DISPATCHES, 1):
        row = (number, 0, queue, 0, start, end, string(name), string("KernelExecution"))
        connection.execute("INSERT INTO rocpd_op VALUES (?,?,?,?,?,?,?,?)", row)
        connection.execute("INSERT INTO rocpd_api_ops(api_id, op_id) VALUES (?, ?)", (call, number))
        blocks = [of // by for of, by in zip(grid, workgroup, strict=True)]
        handle = "0x0" if stream == 0 else f"0xabc{stream}"
        row = (call, handle, *blocks, *workgroup, lds, 0, string(name))
        connection.execute("INSERT INTO rocpd_kernelapi VALUES (?,?,?,?,?,?,?,?,?,?,?)", row)
    direction, start, end, size, call = COPY
    connection.execute(
        "INSERT INTO rocpd_op VALUES (9, 0, 0, 0, ?, ?, ?, ?)", (start, end, string(""), string("CopyHostToDevice"))
    )
    connection.execute("INSERT INTO rocpd_api_ops(api_id, op_id) VALUES (?, 9)", (call,))
    connection.execute("INSERT INTO rocpd_copyapi VALUES (?, '0x0', ?)", (call, size))
    connection.commit()
    connection.close()
