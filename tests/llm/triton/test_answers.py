"""How a model's answer changes a Triton function."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.llm.language_registry import LANGUAGES
from rocm_perf_lab.llm.triton.answers import TRITON, code_of
from rocm_perf_lab.llm.unusable_answer import UnusableAnswer
from rocm_perf_lab.triton_source import TritonSource
from triton_candidates import SOFTMAX

SOURCE = TritonSource(Path("a.py"), SOFTMAX.encode())
KERNEL = SOURCE.kernel("softmax")
OWN = SOURCE.text[KERNEL.span.start : KERNEL.span.end].decode()


def fenced(code: str, language: str = "python") -> str:
    return f"Fewer loads.\n\n```{language}\n{code}\n```\n\nIt reads less.\n"


@pytest.mark.parametrize("language", ["python", "py", "", "Triton"])
def test_the_function_replaces_the_old_one(language):
    change = TRITON.change(SOURCE, "softmax", fenced(OWN.replace("total = 0.0", "total = 0.5"), language))
    assert SOURCE.edited(change.edits).text.decode() == SOFTMAX.replace("total = 0.0", "total = 0.5")
    assert change.other_edits == ()


def test_a_method_keeps_its_indentation():
    text = "import triton\n\n\nclass Kernels:\n    @triton.jit\n    def f(x):\n        return x\n"
    source = TritonSource(Path("a.py"), text.encode())
    change = TRITON.change(source, "f", fenced("@triton.jit\ndef f(x):\n    return x + 1"))
    assert source.edited(change.edits).text.decode() == text.replace("return x", "return x + 1")


@pytest.mark.parametrize(
    "answer, words",
    [
        ("I cannot.", "no fenced Python blocks"),
        (fenced(OWN) + fenced(OWN), "2 fenced Python blocks"),
        (fenced(OWN, "cpp"), "no fenced Python blocks"),
        (fenced(OWN).rpartition("```")[0], "does not end"),
        (fenced(OWN + "\n    )"), "not Python"),
        (fenced("#" * 200_000 + "\n" + OWN), "longer than"),
        (fenced(OWN + "\n    x = '\x07'"), "control character 0x07"),
    ],
)
def test_an_answer_without_one_function(answer, words):
    found = code_of(answer)
    assert isinstance(found, UnusableAnswer) and words in found.reason


def test_an_answer_that_reaches_the_host():
    found = TRITON.change(SOURCE, "softmax", fenced(OWN + "\n    np.save('x', row)"))
    assert isinstance(found, UnusableAnswer) and "np.save" in found.reason


def test_journals_name_the_language():
    assert LANGUAGES["triton"] is TRITON and LANGUAGES["hip"].name == "hip"
