"""`rocm-perf gate --triton` on scripts with Triton from the package index: wrong changes and right ones. Each wrong one comes
with words of the reason for which it must be rejected.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triton_candidates import HONEST, SOFTMAX, WRONG, changed, kernel_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("native_dir")]


def judged(rocm_perf, python: Path, folder: Path, script: str, replacements: list[tuple[str, str]]) -> dict:
    (folder / "old.py").write_text(script)
    (folder / "new.py").write_text(changed(script, replacements))
    words = ("--triton", "--python", python, "--ulps", "4", "--seed", "0", "--json")
    ran = rocm_perf("gate", *words, "old.py", f"new.py::{kernel_of(script)}")
    assert ran.returncode in (0, 45), ran.stderr
    found = json.loads(ran.stdout)
    assert found["accepted"] == (ran.returncode == 0)
    return found


@pytest.mark.parametrize("script, replacements, said", [pytest.param(*one[1:], id=one[0]) for one in WRONG])
def test_wrong(rocm_perf, python, tmp_path, script, replacements, said):
    found = judged(rocm_perf, python, tmp_path, script, replacements)
    reasons = [step["reason"] for step in found["steps"] if step["outcome"] == "rejected"]
    assert len(reasons) == 1 and said in reasons[0], reasons


def test_without_an_interpreter_that_can_start_a_candidate_is_not_judged_further(rocm_perf, newest_python, tmp_path):
    """For example if there is no memory for another process: nothing is accepted without the comparison."""
    script = changed(SOFTMAX, [("\n\nfor columns", "\n\nimport os\nos.fork = None\nfor columns")])
    (tmp_path / "old.py").write_text(script)
    (tmp_path / "new.py").write_text(script.replace("BLOCK=64", "BLOCK=512"))
    ran = rocm_perf("gate", "--triton", "--python", newest_python, "--ulps", "4", "old.py", "new.py::softmax")
    assert ran.returncode == 38
    assert "the baseline's launch cannot be interpreted: TypeError" in ran.stderr


@pytest.mark.parametrize("script, replacements", [pytest.param(*one[1:], id=one[0]) for one in HONEST])
def test_honest(rocm_perf, python, tmp_path, script, replacements):
    found = judged(rocm_perf, python, tmp_path, script, replacements)
    assert found["accepted"], [step["reason"] for step in found["steps"]]
    cases = {case: result for one in found["steps"][1]["evidence"]["captures"] for case, result in one["cases"].items()}
    assert not any("dropped" in result for result in cases.values())
    asked = [result for case, result in cases.items() if "interpreter" in case]
    assert asked and all(result == "equal" or result.startswith("not interpreted") for result in asked)
