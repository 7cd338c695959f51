"""Shortened values fit, are the beginning of the whole, and say where the omitted part can be read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.mcp.outline import compact, outline, value_at

NAMES = st.text("ab/~ é", min_size=1, max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("xyz", max_size=400),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=60,
)


def pointers(value):
    """Every "read /pointer" in a value."""
    return [found.removesuffix(")") for found in re.findall(r"read (/[^\"]*?)(?=\"|$)", compact(value).replace("\\\\", ""))]


@given(VALUES, st.integers(50, 2000))
def test_a_value_that_fits_is_unchanged_and_others_are_shortened(value, room):
    found = outline(value, room=room)
    if len(compact(value)) <= room:
        assert found == value
    else:
        assert len(compact(found)) <= max(room, 600)  # the tightest form of an object names its fields


@given(st.dictionaries(st.sampled_from(["a", "b/c", "d~e"]), st.lists(st.text("xyz", max_size=90), max_size=9), min_size=1))
def test_omitted_parts_can_be_read(value):
    for pointer in pointers(outline(value, room=60)):
        value_at(value, pointer)


@given(VALUES)
def test_reading_follows_the_pointers(value):
    def walk(one, pointer):
        assert value_at(value, pointer) is one
        items = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for name, inner in items:
            walk(inner, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")

    walk(value, "")


@pytest.mark.parametrize(("pointer", "said"), [
    ("/a/7", "/a has no '7'; it has items 0 to 1"), ("/b", "the document has no 'b'; it has a"), ("/a/0/x", "nothing below it"),
])  # fmt: skip
def test_the_error_for_a_wrong_pointer_says_how_far_it_leads(pointer, said):
    with pytest.raises(LookupError, match=re.escape(said)):
        value_at({"a": [1, 2]}, pointer)
