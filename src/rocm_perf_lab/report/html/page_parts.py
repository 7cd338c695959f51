"""The parts that all HTML pages share: the frame (a single file that needs no network), the styles, the JavaScript functions
and, where it is used, D3.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

_PACKAGE = __package__ or __name__


def file_text(name: str, package: str = _PACKAGE) -> str:
    """The text of a file in a package, such as part of a page."""
    return _file_text(package, name)


@cache
def _file_text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


def assemble(title: str, body: str, data: object, scripts: Sequence[str], *, with_d3: bool) -> str:
    """The text of a page; the same input always yields the same text. body: HTML without data. data: a JSON value, which
    scripts see as `data`.
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    parts = {
        "TITLE": html.escape(title), "DATA": text, "STYLE": file_text("page.css"), "BODY": body,
        "SCRIPT": "\n".join([file_text("common.js"), *scripts]),
        "D3": f"<script>{file_text('d3.min.js')}</script>" if with_d3 else "",
        "LICENCE": _licence() if with_d3 else "",
    }  # fmt: skip
    pieces = file_text("page_skeleton.html").split("@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _licence() -> str:
    text = html.escape(file_text("d3-LICENSE"))
    return f"<details><summary>Licence of D3, which this page contains</summary><pre>{text}</pre></details>"


def texts(value: Any) -> Any:
    """The JSON value, with all strings made valid Unicode: invalid bytes become replacement characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {texts(key): texts(item) for key, item in value.items()}
    return [texts(item) for item in value] if isinstance(value, list | tuple) else value
