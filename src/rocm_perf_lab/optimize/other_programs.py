"""The other programs, libraries and objects that a build makes from the source to be changed, and their units.

Candidates are not built into these products. But a source that changes for one program changes for the others as well, and
their launches of its kernels have to change with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.optimize.build_commands import OutputCommand
from rocm_perf_lab.optimize.build_description import Build
from rocm_perf_lab.optimize.unit_files import files_of
from rocm_perf_lab.process.cores import available_cores

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:["<]([^">\n]+)[">]|(\S))', re.MULTILINE)
_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter")


@dataclass(frozen=True)
class OtherProducts:
    """units: HIP units that are not the program's own, each with its files. names: the names of the products built from
    them.
    """

    units: Mapping[OutputCommand, frozenset[Path]] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def files(self) -> frozenset[Path]:
        return frozenset[Path]().union(*self.units.values())


def other_products(build: Build, source: Path) -> OtherProducts:
    """The products, other than the program, that are built from `source`; units that do not compile are omitted.

    Raises SourceError if one of the program's own units does not compile.
    """
    own = frozenset(build.units)
    concerned = [
        product for product in (*build.other_products, *build.libraries) if _is_built_from(source, product, build, own)
    ]
    units = list(
        dict.fromkeys(command for product in concerned for command in product.units if command not in own and command.is_hip)
    )
    files = {command: included for command, included in zip(units, _files_of_units(units), strict=True) if included}
    return OtherProducts(files, tuple(product.commands[-1].output.name for product in concerned))


def _is_built_from(source: Path, product: Build, build: Build, own: frozenset[OutputCommand]) -> bool:
    shared = own.intersection(product.units)
    if shared and shared.intersection(build.units_including(source)):
        return True
    likely = [command for command in product.units if command not in own and may_include(command, source)]
    return any(source.resolve() in files for files in _files_of_units(likely))


def _files_of_units(commands: Sequence[OutputCommand]) -> list[frozenset[Path]]:
    """The files of each unit; an empty set for a unit that does not compile."""
    if not commands:
        return []
    with ThreadPoolExecutor(available_cores()) as pool:
        return list(pool.map(_files_if_it_compiles, commands))


def _files_if_it_compiles(command: OutputCommand) -> frozenset[Path]:
    try:
        return files_of(command)
    except SourceError:
        return frozenset()


def may_include(command: OutputCommand, source: Path) -> bool:
    """Whether the unit may include `source`, going by its include directives; if not, there is no need to ask the compiler."""
    folders = [command.folder / name for name in _folders(command.argv)]
    left, seen = [path.resolve() for path in command.sources], set[Path]()
    while left:
        file = left.pop()
        if file in seen or not file.is_file():
            continue
        if file == source.resolve():
            return True
        seen.add(file)
        for name in _included_names(file):
            if name is None:
                return True  # a macro names the file
            left += [included.resolve() for folder in (file.parent, *folders) if (included := folder / name).is_file()]
    return False


def _included_names(file: Path) -> Iterator[str | None]:
    return (match[1].decode(errors="surrogateescape") if match[1] else None for match in _INCLUDE.finditer(file.read_bytes()))


def _folders(argv: Iterable[str]) -> Iterator[str]:
    remaining = iter(argv)
    for word in remaining:
        option = next((option for option in _FOLDERS if word.startswith(option)), None)
        if option is not None:
            yield word.removeprefix(option) or next(remaining, ".")
