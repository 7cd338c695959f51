"""Vocabulary: help texts say what a thing is, and terms that only this project's authors understand are not used."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from rocm_perf_lab.cli.reference import every_command

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CHANGELOG.md", "benchmarks/README.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *sorted((REPOSITORY / "skill").rglob("*.md")),
]
SAID = [
    REPOSITORY / "src/rocm_perf_lab/errors.py",
    *sorted(REPOSITORY.glob("src/rocm_perf_lab/cli/*.py")),
    *sorted(REPOSITORY.glob("src/rocm_perf_lab/report/*.py")),
]

_COUNTED = (
    "SIMD|CU|WGP|XCD|lane|cycle|clock|wave|workgroup|work-item|thread|instruction|dispatch|launch|access|request|channel|bank"
)
_AMOUNT = (
    r"\d|waves|bytes|cycles|instructions|operations|requests|accesses|VGPRs|SGPRs|LDS|[KMG]i?B|FLOP|one|rows?|entry|object|line"
)
PRIVATE = {
    "say fix or hint": r"\bmend(s|ed|ing)?\b",
    "say headroom or gain": r"\bto (be won|win)\b",
    "say per": rf"\b({_AMOUNT}) an? ({_COUNTED})\b(?! (is|has|are|of its|never|takes|gets|holds|wrote|writes|that)\b)",
    "say skipped": r"\bleft alone\b",
    "say overhead": r"\bfor nothing\b",
    "say why it cannot ask": r"\bnobody can be asked\b",
    "say repeat": r"\bgone through again\b",
    "say what it is": r"\bwhat the world said\b",
    "say that a wave waited for": r"\bwaited-for\b",
    "say upper bound": r"\bas short as you like\b",
    "say by confidence": r"\bsurely (save|less|faster)\b",
    "say the reader closed the pipe": r"\bwhat read the output\b",
    "say that it cannot be mapped": r"\bcannot be had\b|\bcan be had\b",
    "say resume or continue": r"--resume goes on\b",
}


def private_words(text: str) -> list[str]:
    plain = " ".join(re.sub(r"`[^`\n]*`", "``", text).split())
    return [
        f"{found[0]!r}: {instead}" for instead, word in PRIVATE.items() for found in re.finditer(word, plain, re.IGNORECASE)
    ]


def prose(page: Path) -> str:
    """Without code, since the names of fields and events are exempt."""
    return re.sub(r"(?ms)^```.*?^```|`[^`\n]*`|^    .*?$", "", page.read_text("utf-8"))


def messages(path: Path) -> list[str]:
    """The sentences among the strings of a module, and the docstrings of commands, which are their help."""
    tree = ast.parse(path.read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    comments = {id(node.body[0].value) for node in functions if ast.get_docstring(node) and not _is_command(node)}
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in strings if " " in node.value and id(node) not in comments]


def _is_command(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("command" in ast.unparse(one) for one in node.decorator_list)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_documents(page: Path):
    assert not private_words(prose(page))


@pytest.mark.parametrize("path", SAID, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_messages(path: Path):
    assert not [word for message in messages(path) for word in private_words(message)]


def help_texts() -> list[tuple[str, str]]:
    """(command and option, its text), and also commands without an option."""
    texts = []
    for name, command in every_command():
        texts.append((name, command.help or ""))
        texts += [(f"{name} {one.opts[0]}", one.help or "") for one in command.params if isinstance(one, click.Option)]
    return texts


@pytest.mark.parametrize("named", help_texts(), ids=lambda named: named[0])
def test_help(named: tuple[str, str]):
    """Each text is a noun phrase, a full sentence or an imperative: 'Random seed.', not 'Of the random numbers.'."""
    text = " ".join(named[1].partition("[default")[0].split())
    assert re.match(r"[A-Z]|[a-z-]+: |zstd ", text) and text.endswith((".", "?"))
    assert not re.match(r"(Of|To|For|At|By|In|On|That|Which|Whether|How|Where|Also|Runs before|The|This|It) ", text)
    assert not private_words(text)
