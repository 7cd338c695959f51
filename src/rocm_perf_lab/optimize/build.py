"""How a program is made from its sources: its units, each compiled separately, and the commands that link them.

The rest of the user's build is not kept. For a candidate, only the units that include the changed file are compiled anew, and
other actions of the build are not performed.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.errors import NoSourceError, SourceError, UsageError
from rocm_perf_lab.hip_source.kernel_text import defines_kernels
from rocm_perf_lab.hip_source.source import OtherUnit
from rocm_perf_lab.optimize.dependencies import files_of
from rocm_perf_lab.optimize.steps import BuildCommand, Step, steps_of, with_libraries


@dataclass(frozen=True)
class Build:
    """The commands that make a program from its sources.

    steps: the commands that make the program, each after those whose results it needs; the last one makes the program itself.
    libraries: builds of the shared libraries that are made along with it; the program uses these where they are. others:
    builds of what else is made and not used for anything: programs, archives, objects. code_objects: the commands that make
    device code for a program to load. left_out: the user's commands that contribute nothing to this, as they were written.
    """

    steps: tuple[Step, ...]
    libraries: tuple[Build, ...] = ()
    left_out: tuple[str, ...] = ()
    code_objects: tuple[Step, ...] = ()
    others: tuple[Build, ...] = ()

    @functools.cached_property
    def units(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.sources)

    @functools.cached_property
    def files(self) -> dict[Path, frozenset[Path]]:
        """Output of each unit -> the real paths of the files that it is made from. Errors: SourceError."""
        return {step.output: files_of(step) for step in self.units}

    def including(self, source: Path) -> tuple[Step, ...]:
        """The units that include `source`. Errors: SourceError."""
        if len(self.units) == 1 and self.units[0].sources[0].resolve() == source.resolve():
            return self.units  # known without asking the compiler
        return tuple(step for step in self.units if source.resolve() in self.files[step.output])

    def code_objects_of(self, source: Path) -> list[Path]:
        """The code objects for loading that are made with `source`. Errors: SourceError."""
        return [step.output for step in self.code_objects if source.resolve() in files_of(step)]

    def remade(self, source: Path) -> frozenset[Path]:
        """The outputs that change with the contents of `source`."""
        found = {step.output for step in self.including(source)}
        for step in self.steps:
            if found & set(step.linked):
                found.add(step.output)
        return frozenset(found)

    def sources_with_kernels(self) -> list[Path]:
        """The main files with kernels, or if there are none, the user's files with kernels that they include."""
        mains = [step.sources[0] for step in self.units if step.is_hip]
        if found := [path for path in dict.fromkeys(mains) if _has_kernels(path)]:
            return found
        return sorted({path for step in self.units if step.is_hip for path in self.files[step.output] if _has_kernels(path)})


def build_of(commands: Sequence[BuildCommand], program: Path) -> Build:
    """The build that these commands make up.

    Errors: UsageError if the commands do not make the program, or make several that could be it.
    """
    steps = steps_of(commands)
    made = list(dict.fromkeys(step.output for step in steps))
    by_output = {step.output: with_libraries(step, made) for step in steps}
    last = _linking(by_output, program)
    needed = tuple(_in_order(last, by_output))
    if not any(step.sources for step in needed):
        raise UsageError(
            f"the build links {last.output.name} and does not say how its objects are compiled",
            "give the whole build with --build",
        )
    if missing := next((step.folder for step in needed if not step.folder.is_dir()), None):
        raise UsageError(f"the build works in {missing}, which does not exist", "build the program once")
    libraries = [step for step in by_output.values() if step.is_shared_library]
    code_objects = tuple(step for step in by_output.values() if step.is_code_object)
    used = {last.output, *(path for step in by_output.values() for path in step.linked)}
    others = [step for step in by_output.values() if step.output not in used and step not in (*libraries, *code_objects)]
    made_with = [tuple(Build(tuple(_in_order(step, by_output))) for step in some) for some in (libraries, others)]
    return Build(needed, made_with[0], code_objects=code_objects, others=made_with[1])


def _linking(steps: dict[Path, Step], program: Path) -> Step:
    """The step that makes the program: matched by path, else by name, else the only step that makes any program."""
    linking = [
        step
        for step in steps.values()
        if not (step.compiles or step.output.suffix == ".a" or step.is_shared_library or step.is_code_object)
    ]
    path = Path(os.path.normpath(Path.cwd() / program))
    for fits in (lambda step: step.output == path, lambda step: step.output.name == program.name, lambda step: True):
        if len(found := [step for step in linking if fits(step)]) == 1:
            return found[0]
    if not linking:
        raise UsageError("the build has no command that makes a program", "give one that compiles and links, with --build")
    names = ", ".join(str(step.output) for step in linking[:5])
    raise UsageError(f"the build makes {len(linking)} programs ({names}), and {program} is none of them", "name one of these")


def _in_order(step: Step, steps: dict[Path, Step]) -> Iterator[Step]:
    seen: set[Path] = set()

    def walk(one: Step) -> Iterator[Step]:
        for path in one.linked:
            before = steps.get(path)
            if before is not None and path not in seen and not before.is_shared_library:
                seen.add(path)
                yield from walk(before)
        yield one

    return walk(step)


def units_around(build: Build, source: Path) -> tuple[Step, tuple[OtherUnit, ...]]:
    """The unit in which to read `source`, and the other units.

    Errors: NoSourceError if no unit includes it, SourceError if a unit that includes it cannot be judged.
    """
    including = build.including(source)
    if not including:
        raise NoSourceError(*_not_part(build, source))
    if other := next((step for step in including if not step.is_hip), None):
        raise SourceError(
            f"{source.name} is also part of {other.sources[0].name}, which {Path(other.words[0]).name} does not compile as HIP",
            "compile it as HIP, or move the kernel to a file of its own",
        )
    own = next((step for step in including if step.sources[0].resolve() == source.resolve()), including[0])
    others = [step for step in build.units if step is not own]
    return own, tuple(_other(build, step, step in including) for step in others)


def _other(build: Build, step: Step, includes: bool) -> OtherUnit:
    files = () if step.is_hip else (step.sources[0], *sorted(build.files[step.output]))
    return OtherUnit(step.sources[0], step.words, step.folder, includes, files)


def _not_part(build: Build, source: Path) -> tuple[str, str]:
    if library := next((one.steps[-1].output.name for one in build.libraries if one.including(source)), None):
        return f"{source} is compiled into {library}, not into the program", "link it into the program itself, to change it"
    if code_object := next(iter(build.code_objects_of(source)), None):
        return (
            f"{source} is compiled into {code_object.name}, a code object for hipModuleLoad, which cannot be judged yet",
            "kernels that are compiled into the program itself and launched by <<<...>>> or hipLaunchKernel can be judged",
        )
    names = ", ".join(dict.fromkeys(step.sources[0].name for step in build.units[:5]))
    more = ", ..." if len(build.units) > 5 else ""
    return f"{source} is not part of what the build compiles ({names}{more})", "name one of these, or another --build"


def _has_kernels(path: Path) -> bool:
    try:
        return defines_kernels(path.read_bytes())
    except OSError:
        return False
