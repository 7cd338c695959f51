"""What a profiler that runs `amd-smi` learns about the software devices."""

import json

import pytest


@pytest.fixture
def amd_smi(rocm_perf, inert_native):
    def ask(device, *words):
        return rocm_perf("run", "--device", device, "sh", "-c", "amd-smi " + " ".join(words), environment=inert_native)

    return ask


def test_the_answer_matches_the_table_of_products(amd_smi):
    done = amd_smi("gfx942:2", "static", "--clock", "--json")
    gpus = json.loads(done.stdout)["gpu_data"]
    assert [gpu["gpu"] for gpu in gpus] == [0, 1]
    assert gpus[1]["clock"]["mem"]["frequency_levels"] == {"Level 0": "1300 MHz"}
    assert gpus[1]["asic"]["market_name"] == "AMD Instinct MI300X" and gpus[1]["asic"]["num_compute_units"] == 304


def test_the_text_says_the_same(amd_smi):
    lines = amd_smi("gfx90a", "static", "--gpu=0").stdout.rstrip().splitlines()
    assert lines[:3] == ["GPU: 0", "    ASIC:", "        MARKET_NAME: AMD Instinct MI250X"]
    assert lines[-4:] == [
        "        MEM:", "            CURRENT_LEVEL: 0", "            FREQUENCY_LEVELS:", "                LEVEL 0: 1600 MHz"
    ]  # fmt: skip


def test_anything_else_is_refused(amd_smi):
    done = amd_smi("gfx942", "metric")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "amd-smi: a software device answers `amd-smi static` only\n"
