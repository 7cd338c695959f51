"""Runs a script with the text of one file replaced. Source locations, imports and `__file__` refer to that file as if it held
the new text.

    python -m rocm_perf_triton.run_with_changed_file FILE TEXT SCRIPT [ARGUMENTS]...

FILE is the script or a module that it imports; TEXT is a file with the replacement text.
"""

from __future__ import annotations

import linecache
import os
import runpy
import sys
import types
from importlib.machinery import SourceFileLoader
from typing import Any

OPTION = "--changed"  # the option of rocm_perf_triton.served that precedes FILE and TEXT


class ChangedFile:
    """path: the file. text: its replacement."""

    def __init__(self, path: str, text: bytes):
        self._path, self._text = os.path.realpath(path), text

    @classmethod
    def of(cls, path: str, text_file: str) -> ChangedFile:
        with open(text_file, "rb") as file:
            return cls(path, file.read())

    def install(self) -> None:
        """Make imports of the file use the text, even if the original is already cached as bytecode."""
        of_loader = SourceFileLoader.get_code

        def get_code(loader: Any, name: str) -> Any:
            return self._code(loader.path) if self.is_at(loader.path) else of_loader(loader, name)

        SourceFileLoader.get_code = get_code  # type: ignore[assignment,method-assign]

    def is_at(self, path: str) -> bool:
        return os.path.realpath(path) == self._path

    def run(self, name: str) -> None:
        """Run the text as a script. name: the script's name, as given by the user."""
        module = types.ModuleType("__main__")
        module.__file__ = name
        module.__builtins__ = sys.modules["builtins"]  # type: ignore[attr-defined]
        sys.modules["__main__"] = module
        exec(self._code(name), module.__dict__)

    def _code(self, name: str) -> Any:
        """Compile the text and register it in linecache, without an mtime so that linecache does not check it against the
        disk.
        """
        lines = self._text.decode().splitlines(keepends=True)
        linecache.cache[name] = (len(self._text), None, lines, name)
        return compile(self._text, name, "exec", dont_inherit=True)


def run_script(script: str, arguments: list[str], changed: ChangedFile | None = None) -> None:
    """Run the script as if it had been passed to Python on the command line."""
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    if changed is not None:
        changed.install()
    if changed is not None and changed.is_at(script):
        changed.run(script)
    else:
        runpy.run_path(script, run_name="__main__")


def main() -> None:
    file, text, script, *arguments = sys.argv[1:]
    run_script(script, arguments, ChangedFile.of(file, text))


if __name__ == "__main__":
    main()
