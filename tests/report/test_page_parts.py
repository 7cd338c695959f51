"""A page in one file: what its data and title may contain, and what it includes."""

from __future__ import annotations

import json
import re

import pytest

from rocm_perf_lab.report.html.page_parts import assemble, file_text, texts


def page(data: object = None, title: str = "t", scripts=(), with_d3: bool = False) -> str:
    return assemble(title, "<main>@BODY</main>", data, scripts, with_d3=with_d3)


def test_data_cannot_end_its_element():
    data = {"a": "</script><!-- é \u2028", "b": [1, None, 0.5]}
    text = page(data)
    assert "</script><!--" not in text
    (found,) = re.findall(r"\{\"a\":.*?0\.5\]\}", text)
    assert found.isascii() and "<" not in found and json.loads(found) == data


def test_the_title_is_text():
    assert "a &lt;b&gt; &amp; &quot;c&quot;" in page(title='a <b> & "c"')


def test_scripts_follow_the_common_one_in_order():
    text = page(scripts=["first();", "second();"])
    assert (
        f"{file_text('common.js')}\nfirst();\nsecond();" in text
        and "<main>@BODY</main>" in text
        and file_text("page.css") in text
    )


@pytest.mark.parametrize("with_d3", [True, False])
def test_d3_comes_with_its_licence(with_d3):
    text = page(with_d3=with_d3)
    assert (file_text("d3.min.js") in text) == ("Licence of D3, which this page contains" in text) == with_d3


def test_numbers_that_json_lacks_are_refused():
    with pytest.raises(ValueError):
        page(float("nan"))


def test_texts_are_valid_unicode():
    assert texts({"a\ud800": ["x\udcff", ("y", 1, None)], "b": 2.5}) == {"a?": ["x?", ["y", 1, None]], "b": 2.5}
