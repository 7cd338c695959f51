"""Reading time stacks, including damaged files."""

from __future__ import annotations

import json

import pytest

from rocm_perf_lab.analysis.thread_trace import time_stack
from rocm_perf_lab.analysis.thread_trace.parse import UnreadableFileError

DOCUMENT = {
    "version": 1, "duration_ns": 1000, "without_all_ns": 0,
    "causes": {"barriers": {"without_ns": 700, "only_ns": 0}, "atomics": {"without_ns": 900, "only_ns": 100}},
    "chosen": ["atomics", "barriers"], "subset_ns": [1000, 900, 700, 600],
    "instructions": [
        {"text": "a", "source": "x.hip:1", "code_object": 1, "vaddr": 8, "without_ns": 990},
        {"text": "b", "source": "", "code_object": 1, "vaddr": 16, "without_ns": 800},
    ],
}  # fmt: skip


def written(folder, document: object):
    (folder / time_stack.FILE).write_text(document if isinstance(document, str) else json.dumps(document))
    return folder


def test_read(tmp_path):
    stack = time_stack.read(written(tmp_path, DOCUMENT))
    assert [(part.cause, part.ns, part.first_ns, part.last_ns) for part in stack.parts] == [
        ("barriers", 300, 300, 300),
        ("atomics", 100, 100, 100),
    ]
    assert (stack.duration_ns, stack.rest_ns) == (1000, 600)
    assert [(one.text, one.gain_ns) for one in stack.instructions] == [("b", 200), ("a", 10)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "has version 2"),
        ({"subset_ns": [1000, 900]}, "a time for every set"),
        ({"subset_ns": [999, 900, 700, 600]}, "a time for every set"),
        ({"subset_ns": [1000, -1, 700, 600]}, "whole number"),
        ({"duration_ns": True}, "whole number"),
        ({"duration_ns": "1000"}, "whole number"),
        ({"chosen": ["atomics", "gravity"]}, "does not describe"),
        ({"chosen": 7}, "is incomplete"),
        ({"instructions": [{}]}, "is incomplete"),
        ({"causes": None}, "is incomplete"),
    ],
)
def test_damaged(tmp_path, change, why):
    with pytest.raises(UnreadableFileError, match=why):
        time_stack.read(written(tmp_path, DOCUMENT | change))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}'])
def test_truncated(tmp_path, text):
    with pytest.raises(UnreadableFileError):
        time_stack.read(written(tmp_path, text))


def test_without_a_file(tmp_path):
    with pytest.raises(UnreadableFileError, match="only the software device"):
        time_stack.read(tmp_path)
