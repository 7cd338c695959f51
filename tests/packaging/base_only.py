"""Runs commands of rocm-perf as after `pip install rocm-perf-lab` without an extra: nothing else can be imported.

base_only.py SITE COMMANDS: SITE is the folder with the unpacked wheel; COMMANDS is a JSON list of argument lists. Prints a JSON
list of [exit code, stdout, stderr].
"""

import contextlib
import importlib.metadata
import io
import json
import sys

from packaging.requirements import Requirement


def required(name: str, extra: str, seen: set[str]) -> set[str]:
    """The distributions that are installed with `name`, including itself."""
    key = name.lower().replace("-", "_")
    if key in seen:
        return seen
    seen.add(key)
    for text in importlib.metadata.requires(name) or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            required(requirement.name, "", seen)
    return seen


class Blocker:
    """Hides every module that the base installation does not include, also from later finders."""

    def __init__(self, allowed: set[str]):
        self.allowed = allowed

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.allowed and not name.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def base_modules() -> set[str]:
    distributions = required("rocm-perf-lab", "", set())
    found = set(sys.stdlib_module_names)
    for module, owners in importlib.metadata.packages_distributions().items():
        if any(owner.lower().replace("-", "_") in distributions for owner in owners):
            found.add(module)
    return found | {"rocm_perf_lab"}


def run(arguments: list[str]) -> tuple[int, str, str]:
    from rocm_perf_lab.cli import _run_cli

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = _run_cli(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    importlib.invalidate_caches()
    allowed = base_modules()
    for name in [name for name in sys.modules if name.partition(".")[0] not in allowed and name != "__main__"]:
        del sys.modules[name]
    sys.meta_path.insert(0, Blocker(allowed))
    import rocm_perf_lab

    assert rocm_perf_lab.__file__.startswith(sys.argv[1]), rocm_perf_lab.__file__
    print(json.dumps([run(arguments) for arguments in json.loads(sys.argv[2])]))
