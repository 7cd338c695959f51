"""Rebuilds a wheel from the installed package, so that it can be installed in the root without an index."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import zipfile
from pathlib import Path

_NAME = "rocm-perf-lab"
_OF_THE_INSTALLER = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def repack(folder: Path) -> Path:
    """Write the wheel to the folder, replacing earlier ones, and return its path. The same package yields the same bytes."""
    distribution = importlib.metadata.distribution(_NAME)
    info = f"{_NAME.replace('-', '_')}-{distribution.version}"
    tag = next(line[5:] for line in (distribution.read_text("WHEEL") or "").splitlines() if line.startswith("Tag: "))
    wheel = folder / f"{info}-{tag}.whl"
    for earlier in folder.glob("*.whl"):
        earlier.unlink()
    records = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in sorted(_files(distribution)):
            content = file.read_bytes()
            _add(archive, name, content, file.stat().st_mode)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            records.append(f"{name},sha256={digest},{len(content)}\n")
        record = f"{info}.dist-info/RECORD"
        _add(archive, record, "".join([*records, f"{record},,\n"]).encode(), 0o644)
    return wheel


def _files(distribution: importlib.metadata.Distribution) -> list[tuple[str, Path]]:
    """(name in the wheel, file) for everything that came from the wheel, except scripts, bytecode and the installer's own
    files.
    """
    files = []
    for path in distribution.files or []:
        top, name = path.parts[0], path.parts[-1]
        of_package = top == "rocm_perf_lab" and name.rpartition(".")[2] != "pyc"
        if of_package or (top.endswith(".dist-info") and name not in _OF_THE_INSTALLER):
            files.append((path.as_posix(), Path(str(distribution.locate_file(path)))))
    return files


def _add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.external_attr = (0o100755 if mode & 0o100 else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)
