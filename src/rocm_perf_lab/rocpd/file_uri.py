"""Makes the URI with which SQLite opens a file."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote_from_bytes


def file_uri(path: Path, options: str) -> str:
    """options: such as "mode=ro". Path.as_uri() would import Python's HTTP client, which takes longer than opening the file."""
    return f"file://{quote_from_bytes(os.fsencode(path.absolute()))}?{options}"
