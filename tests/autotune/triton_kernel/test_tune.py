"""Tuning a function with a script that speaks the protocol without Triton and has a fixed time for each configuration."""

from __future__ import annotations

import contextlib
import json
import sys
import types
from pathlib import Path

import pytest

from rocm_perf_lab.autotune.entry import AutotuneRequest
from rocm_perf_lab.autotune.evaluation_outcome import FAILED, OK, WRONG_OUTPUT
from rocm_perf_lab.autotune.triton_kernel import tune as tuning
from rocm_perf_lab.autotune.triton_kernel.bench import TritonFunctionBench
from rocm_perf_lab.autotune.triton_kernel.document import tuning_document
from rocm_perf_lab.autotune.triton_kernel.plan import TritonPlan
from rocm_perf_lab.autotune.triton_kernel.size_table import size_table
from rocm_perf_lab.autotune.triton_kernel.tune import tune
from rocm_perf_lab.autotune.triton_kernel.workers import Workers
from rocm_perf_lab.code_object import code_objects_in
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import NoKernelsError, NothingRanError, SpaceError
from rocm_perf_lab.triton_launches import ServedScript

SOFTWARE = Device(False, "gfx942", "software gfx942", {}, (), ())
BLOCKS = (16, 32, 64, 128, 256, 512, 8)  # the others are compared with the first one
SIZES = (64, 4096)
# 16 is the best block for the small size and 128 for the large one. 8 computes something else, 32 needs more LDS than there is,
# 256 does not compile, 512 fails as it runs.
SCRIPT = """
import json, os, struct, sys
from pathlib import Path
binary, sizes, blocks, status = json.loads(sys.argv[1])
def send(**message):
    print(json.dumps(message), flush=True)
def compiled(block):
    if block == 256:
        return {"error": "out of registers"}
    return dict(binary=binary, shared=1 << 20 if block == 32 else 512, threads=256, matrix_instructions=3, programs=[5, 2])
def evaluated(size, block, folder):
    if block == 512:
        return {"error": "a fault", "is_dead": True}
    path = Path(folder) / f"y-{block == 8}"
    partial = path.with_name(f"{os.getpid()}")  # another worker may read it
    partial.write_bytes(struct.pack("2f", 1.0, 2.5 if block == 8 else 2.0))
    partial.rename(path)
    return dict(runs=[abs(block - (16 if size == 64 else 128)) + 2.0] * 3, outputs={"y": path.name})
for size in sizes:
    configurations = blocks and [{"BLOCK": one, "num_warps": 4} for one in blocks]
    send(event="launch", kernel="scale", source="def scale(): ...", key={"M": size}, constants=["BLOCK"],
         arguments={"y": {"kind": "array", "dtype": "float32"}}, configurations=configurations)
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "continue":
            print("took", request["values"], file=sys.stderr, flush=True)
            break
        block = (request["values"] or {"BLOCK": 16})["BLOCK"]
        answer = compiled(block) if request["do"] == "compile" else evaluated(size, block, request["folder"])
        send(event="answer", **answer)
send(event="end", status=status)
"""


@pytest.fixture
def tuned(tmp_path, testbed, monkeypatch):
    """tuned(budget, sizes, blocks, status, space) -> (the findings, the notes)."""
    binary = tmp_path / "code"
    binary.write_bytes(code_objects_in(testbed("vcopy"))[0][1])

    def run(budget: str | None = None, sizes=SIZES, blocks=BLOCKS, status: int = 0, space: dict | None = None):
        told = json.dumps([str(binary), sizes, blocks, status])

        @contextlib.contextmanager
        def bench_of(_plan):
            (folder := tmp_path / "arrays").mkdir(exist_ok=True)
            start = lambda worker: ServedScript([sys.executable, "-c", SCRIPT, told], {}, tmp_path / f"stderr-{worker}")  # noqa: E731
            with contextlib.closing(Workers(start, 2, timeout=20.0)) as workers:
                yield TritonFunctionBench(SOFTWARE, workers, folder)

        monkeypatch.setattr(tuning, "bench_of", bench_of)
        kernel = types.SimpleNamespace(kernel="scale", script=Path("train.py"), version=lambda: "3.5.1")
        file = None
        if space is not None:
            (file := tmp_path / "space.json").write_text(json.dumps({"parameters": space}))
        notes: list[str] = []
        request = AutotuneRequest("random", 7, budget, cache=tmp_path / "cache")
        return tune(request, TritonPlan(kernel, space=file), notes.append), notes

    return run


def test_each_size_gets_its_own_best_configuration_and_the_script_uses_it(tuned, tmp_path):
    found, notes = tuned(status=5)
    assert [(size.key, size.result.fixed) for size in found.sizes] == [({"M": size}, {"num_warps": 4}) for size in SIZES]
    assert (tmp_path / "stderr-0").read_text().split("took ")[1:] == [
        f"{{'num_warps': 4, 'BLOCK': {block}}}\n" for block in (16, 128)
    ]
    for size, best in zip(found.sizes, (16, 128), strict=True):
        outcomes = {one.values["BLOCK"]: one.outcome for one in size.result.evaluated}
        # Configurations that cannot run are left out of the space, although they were compiled.
        assert set(outcomes) == {8, 16, 64, 128, 512} and size.compiled == len(BLOCKS) - 1
        assert size.result.total == 5 and size.result.unlaunchable == 2
        assert {block: one.status for block, one in outcomes.items()} == {8: WRONG_OUTPUT, 16: OK, 64: OK, 128: OK, 512: FAILED}
        assert outcomes[64].ms == abs(64 - best) + 2 and outcomes[64].modelled
        assert outcomes[64].resources["lds_bytes"] == 512 and outcomes[64].resources["programs"] == 10
        assert "differs by 0.25 of its largest number" in outcomes[8].reason and "BLOCK=16 num_warps=4" in outcomes[8].reason
        assert outcomes[512].reason == "a fault"
    # The best configuration for the first size comes first for the second.
    assert found.sizes[1].result.evaluated[0].values["BLOCK"] == 16
    assert found.exit_status == 5 and "ended with status 5" in notes[-1]


def test_the_table_and_the_document_say_what_was_found(tuned):
    found, _ = tuned()
    table = size_table(found)
    assert table[0] == "scale tuned for 2 sizes on software gfx942; random, seed 7"
    small, large = (line.split() for line in table[2:4])
    assert small[:5] == ["M=64", "2", "5", "of", "5"] and small[6:] == ["BLOCK=16", "(modelled),", "2", "failed"]
    assert large[:2] == ["M=4096", "2"] and large[6] == "BLOCK=128"
    assert "CONFIGS = [" in table
    document = tuning_document(found).model_dump()
    assert document["configurations"] == [
        {"configuration": {"num_warps": 4, "BLOCK": 16}, "best_for": [{"M": 64}]},
        {"configuration": {"num_warps": 4, "BLOCK": 128}, "best_for": [{"M": 4096}]},
    ]
    assert [size["search"]["best"]["ms"] for size in document["sizes"]] == [2.0, 2.0]
    assert [size["compiled"] for size in document["sizes"]] == [6, 6]
    assert all(size["compile_seconds"] > 0 and size["search_seconds"] > 0 for size in document["sizes"])


def test_a_space_much_larger_than_the_budget_is_not_compiled_in_advance(tuned):
    blocks = [16, *range(1000, 1070)]
    found, _ = tuned("4", sizes=(64,), space={"BLOCK": blocks})
    (size,) = found.sizes
    assert size.compiled == 0 and len(size.result.evaluated) == 4 and size.result.total == len(blocks)
    found, _ = tuned("18", sizes=(64,), space={"BLOCK": blocks})  # 71 of 4 * 18
    assert found.sizes[0].compiled == len(blocks)


def test_configurations_that_were_evaluated_before_are_not_evaluated_again(tuned):
    first, _ = tuned()
    again, _ = tuned()
    assert [any(one.reused for one in size.result.evaluated) for size in first.sizes] == [False, False]
    for before, after in zip(first.sizes, again.sizes, strict=True):
        outcomes = [{one.values["BLOCK"]: one.outcome.ms for one in size.result.evaluated} for size in (before, after)]
        assert outcomes[0] == outcomes[1] and any(one.reused for one in after.result.evaluated)


@pytest.mark.parametrize(
    "options, error, said",
    [
        ({"sizes": ()}, NoKernelsError, "train.py launched no kernel called scale, and ended with status 0"),
        ({"blocks": [32, 256]}, NothingRanError, "none of 2 configurations can run"),
        ({"blocks": [512]}, NothingRanError, "scale fails as the script launches it: a fault"),
        ({"blocks": None}, SpaceError, "scale has no configurations of its own"),
        ({"space": {"TILE": [1, 2]}}, SpaceError, "TILE is neither a constexpr of scale nor an option"),
    ],
)
def test_a_function_that_cannot_be_tuned_is_reported(tuned, options, error, said):
    with pytest.raises(error, match=said.replace(".", r"\.")):
        tuned(**options)
