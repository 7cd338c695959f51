"""The documents of earlier calls, and the tool that reads parts of them."""

from __future__ import annotations

import itertools
import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.mcp.outline import outline, value_at

READ = "read"
_MAX_DOCUMENTS = 32  # documents that are kept
DESCRIPTION = """Reads more of what an earlier call found: every result names its document, and results that were shortened say
where the rest is ("read /analysis/kernels/0"). Returns the value at that JSON pointer, shortened in the same way if it is long,
or writes all of it to a file."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "document": {"type": "string", "description": "Number of the document, from the result of an earlier call."},
        "pointer": {"type": "string", "description": "JSON pointer such as /dag/symbols/0; empty for the whole document."},
        "save_as": {"type": "string", "description": "File to write the whole value to, as JSON, instead of returning it."},
    },
    "required": ["document"],
    "additionalProperties": False,
}


class CallDocuments:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._documents: OrderedDict[str, Any] = OrderedDict()

    def keep(self, document: Any) -> str:
        """Store the document and return its number. Only the newest _MAX_DOCUMENTS documents are kept."""
        number = str(next(self._numbers))
        self._documents[number] = document
        if len(self._documents) > _MAX_DOCUMENTS:
            self._documents.popitem(last=False)
        return number

    def read(self, folder: Path, document: str, pointer: str = "", save_as: str | None = None) -> Any:
        """Return part of a document, or save it. Raises LookupError if there is no such part, OSError if it cannot be saved."""
        if document not in self._documents:
            raise LookupError(f"there is no document {document}; there are {', '.join(self._documents) or 'none yet'}")
        value = value_at(self._documents[document], pointer)
        if save_as is None:
            return outline(value, pointer)
        path = folder / save_as
        with atomic_write(path) as temporary:
            temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return {"saved": str(path), "bytes": path.stat().st_size}
