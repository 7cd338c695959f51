"""A small healthy thread trace, and ways to damage its folder."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

KERNEL = "scale(float*, int)"
COLUMNS = ["CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle", "Source"]
_UI = "ui_output_agent_1_dispatch_2"
# text, category, stall cycles, and cycles in all
_CODE = [
    ("s_load_dwordx2 s[0:1], s[4:5], 0x0", 1, 0, 4), ("s_waitcnt lgkmcnt(0)", 9, 90, 90), ("v_mov_b32_e32 v1, 0", 6, 0, 4),
    ("global_load_dword v2, v1, s[0:1]", 4, 8, 12), ("s_waitcnt vmcnt(0)", 9, 500, 500), ("v_add_f32_e32 v2, v2, v2", 6, 2, 6),
    ("global_store_dword v1, v2, s[0:1]", 4, 0, 4), ("s_cbranch_scc1 65530", 7, 0, 16), ("s_endpgm", 11, 0, 4),
]  # fmt: skip


def write(folder: Path, waves: int = 3, turns: int = 4) -> Path:
    """The files that rocprofv3 writes for one dispatch; sums in code.json and the CSV equal those of the waves."""
    ui = folder / _UI
    ui.mkdir(parents=True)
    sums = defaultdict(lambda: [0, 0, 0, 0])
    names: dict = {}
    events = []
    for wave in range(waves):
        records, time = [], 100
        order = [*range(3), *(list(range(3, 8)) * turns), 8]
        for step, index in enumerate(order):
            _, category, stall, latency = _CODE[index]
            idle = (step * 7 + wave) % 5
            records.append([time + idle, category, stall, latency, index + 1])
            for place, value in enumerate((1, latency, stall, idle)):
                sums[index][place] += value
            time += idle + latency
        name = f"se0_sm{wave}_sl0_wv0.json"
        head = {"begin": 100, "cu": 1, "end": time, "id": 0, "instructions": records, "simd": wave, "slot": 0}
        document = {
            "duration": time - 100,
            "name": "SE0",
            "num_insts": len(records),
            "num_stitched": len(records),
            "wave": head,
        }
        (ui / name).write_text(json.dumps(document, separators=(",", ":")))
        names[str(wave)] = {"0": {"0": [name, 100, time]}}
        events += [[100, 1, wave, 0, 1, 1], [time, 1, wave, 0, 0, 1]]
    rows = [[f"; {KERNEL}", 0, 0, KERNEL, 2, 7168, 0, 0, 0, 0]]
    rows += [[text, 0, n + 1, f"scale.hip:{10 + n}", 2, 7168 + 8 * n, *sums[n]] for n, (text, *_) in enumerate(_CODE)]
    files = {
        "code": {
            "code": rows,
            "header": "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle",
            "version": "3.0.0",
        },
        "filenames": {"gfxip": 9, "gfxv": "vega", "wave_filenames": {"0": names}, "version": "3.0.0"},
        "occupancy": {"0": sorted(events), "dispatches": {"1": KERNEL}, "version": "3.0.0"},
        "realtime": {"SE0": [[0, 0], [21000, 1000]], "metadata": {"frequency": 100000000}},
        "wstates1": {"name": "wstates1.json", "state": [], "time": []},
    }
    for name, document in files.items():
        (ui / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")))
    with (folder / f"stats_{_UI}.csv").open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(COLUMNS)
        writer.writerows([[row[4], row[5], row[0], *row[6:10], row[3]] for row in rows])
    return folder


Damage = Callable[[random.Random, Path], None]


def _some_file(rng: random.Random, folder: Path) -> Path:
    return rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))


def truncate(rng: random.Random, folder: Path) -> None:
    path = _some_file(rng, folder)
    os.truncate(path, rng.randrange(path.stat().st_size))


def flip_bits(rng: random.Random, folder: Path) -> None:
    path = _some_file(rng, folder)
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def other_digits(rng: random.Random, folder: Path) -> None:
    """Still well-formed, but with a different number."""
    path = _some_file(rng, folder)
    data = bytearray(path.read_bytes())
    digits = [place for place, byte in enumerate(data) if chr(byte).isdigit()]
    for place in rng.sample(digits, min(len(digits), rng.choice([1, 2, 5]))):
        data[place] = ord(rng.choice("0123456789"))
    path.write_bytes(data)


def other_value(rng: random.Random, folder: Path) -> None:
    """Some value in some JSON file has another type or is gone."""
    path = rng.choice(sorted(folder.rglob("*.json")))
    document = json.loads(path.read_text())
    holders = [holder for holder in _holders(document) if holder]
    holder = rng.choice(holders)
    key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(
            [None, True, -1, 0, 1.5, 1e300, 2**31, 2**63, 10**40, "x", "", "x" * 1_000_000, [], {}, [[1, 2]], "\ud800"]
        )
    path.write_text(json.dumps(document, separators=rng.choice([(",", ":"), (", ", ": ")])))


def _holders(value):
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


def other_kind_of_file(rng: random.Random, folder: Path) -> None:
    """A file is gone, empty, a folder, a link to itself, a pipe, or something else altogether."""
    path = _some_file(rng, folder)
    other = rng.choice(sorted(folder.rglob("*.json")))
    text = other.read_bytes()
    path.unlink()
    way = rng.randrange(9)
    if way == 1:
        path.write_bytes(b"")
    elif way == 2:
        path.mkdir()
    elif way == 3:
        path.symlink_to(path.name)
    elif way == 4:
        os.mkfifo(path)
    elif way == 5:
        path.write_bytes(text)
    elif way == 6:
        path.write_bytes(b"[" * 200_000)
    elif way == 7:
        path.write_bytes(b"\xff\xfe" + text)
    elif way == 8:
        path.write_bytes(b'{"code": [[' + b"9" * 10_000 + b"]]}")


def another_folder(rng: random.Random, folder: Path) -> None:
    ui = folder / _UI
    name = rng.choice(
        ["ui_output_agent_1_dispatch_9", "ui_output_agent_x", "ui_output_agent_1_dispatch_99999999999999999999", "other"]
    )
    rng.choice([lambda: ui.rename(folder / name), lambda: shutil.copytree(ui, folder / name), lambda: shutil.rmtree(ui)])()


WAYS: list[Damage] = [
    truncate,
    flip_bits,
    other_digits,
    other_digits,
    other_value,
    other_value,
    other_kind_of_file,
    another_folder,
]
