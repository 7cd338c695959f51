"""Which kernel of which script is meant, and how the script is started so that its launches can be served."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.collect import triton
from rocm_perf_lab.errors import MissingInputError, UnavailableError, UsageError

_SEPARATOR = "::"
_MODULE = "rocm_perf_triton.served"
_KEY_VARIABLE = "ROCM_PERF_TRITON_KEY"  # as rocm_perf_triton/served/__main__.py says
_PYTHON_OPTION = "name the Python that has Triton with --python"


@dataclass(frozen=True)
class ScriptKernel:
    """A function with `@triton.jit`, and the script that launches it. python: the interpreter that has Triton."""

    script: Path
    kernel: str
    arguments: tuple[str, ...]
    python: Path

    @classmethod
    def of(cls, text: str, arguments: Sequence[str], python: str) -> ScriptKernel:
        """text: "script.py::kernel". Raises UsageError, MissingInputError, UnavailableError for a Triton that cannot run."""
        script, separator, kernel = text.rpartition(_SEPARATOR)
        if not separator or not script or not kernel.isidentifier():
            raise UsageError(f"{text} does not name a kernel of a script", "write script.py::kernel")
        if not Path(script).is_file():
            raise MissingInputError(f"{script} does not exist", "check the path before the ::")
        found = shutil.which(python)
        if found is None:
            raise MissingInputError(f"{python} is not a program", _PYTHON_OPTION)
        if (reason := triton.refusal(Path(found))) is not None:
            raise UnavailableError(*reason.split(": ", 1))
        return cls(Path(script), kernel, tuple(arguments), Path(found).absolute())

    def version(self) -> str | None:
        """Of its Triton; None if that is not in the interpreter's own environment."""
        return triton.installed_version(self.python)

    def of_environment(self) -> list[Path]:
        """What the interpreter must see besides its folder and libraries to know its virtual environment."""
        marker = self.python.parent.parent / "pyvenv.cfg"
        return [marker] if marker.exists() else []

    def command(self) -> list[str]:
        """The command line of the process that serves the kernel's launches."""
        return [str(self.python), "-m", _MODULE, self.kernel, str(self.script), *self.arguments]


def environment_of(base: Mapping[str, str], key: Sequence[str] = ()) -> dict[str, str]:
    """`base`, which selects a device, changed so that Python finds the served package. key: arguments that tell sizes apart."""
    added = {_KEY_VARIABLE: ",".join(key)} if key else {}
    return triton.importable(base) | added
