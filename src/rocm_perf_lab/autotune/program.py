"""The program to tune: its templates, and how a configuration fills them. No shell is ever involved."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.autotune.space_file import SpaceFile
from rocm_perf_lab.autotune.template import DEFINES, OUTPUT, Template, text_of
from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.errors import SpaceError


@dataclass(frozen=True)
class FilledCommands:
    """The command lines of one configuration. build, check: None if there is no such step. environment: variables to set."""

    command: list[str]
    build: list[str] | None
    check: list[str] | None
    environment: dict[str, str]


def for_target(target: str | None) -> dict[str, str]:
    """The variable that sets the GPU hipcc builds for when the template names none; otherwise it might choose another."""
    return {"HCC_AMDGPU_TARGET": target} if target else {}


class TunedProgram:
    """Raises SpaceError if templates and space do not match: if nothing fills a field, or if a parameter is not used."""

    def __init__(self, space_file: SpaceFile, command: str, build: str | None = None, check: str | None = None):
        self._file = space_file
        texts = {"--cmd-template": command, "--build-template": build, "--check": check}
        self._templates = {option: Template(option, text) for option, text in texts.items() if text is not None}
        known = {*space_file.space.names, *space_file.fixed}
        if clash := known & {OUTPUT, DEFINES}:
            raise SpaceError(f"a parameter is called {min(clash)}, which has another meaning in templates", "rename it")
        for option, template in self._templates.items():
            template.check(known | {OUTPUT} | ({DEFINES} if option == "--build-template" else set()))
        self._check_destinations()

    def texts(self) -> dict[str, str]:
        """The template of each option, and how each named parameter is passed; both are part of the results cache's key."""
        return {option: template.text for option, template in self._templates.items()} | dict(self._file.destinations)

    def named_files(self) -> Iterable[Path]:
        """The files that the templates name: sources, scripts, and the program itself if it is given as a path."""
        for template in self._templates.values():
            for word in template.words:
                if os.path.isfile(word):  # Path.is_file() raises for a word that is too long for a file name.
                    yield Path(word)

    def expect_programs(self) -> None:
        """Raises MissingInputError for a program that cannot be executed. Programs that the build may create are skipped."""
        first = self._templates.get("--build-template")
        for template in [first] if first else self._templates.values():
            if "{" not in template.words[0]:
                resolve([template.words[0], ""])

    def commands(self, values: dict[str, object], output: Path) -> FilledCommands:
        everything = self._file.fixed | values | {OUTPUT: str(output)}
        to = self._file.destinations
        defines = [f"-D{name}={text_of(value)}" for name, value in values.items() if to[name] == "define"]
        filled = {option: template.fill(everything, defines) for option, template in self._templates.items()}
        environment = {name: text_of(value) for name, value in values.items() if to[name] == "environment"}
        return FilledCommands(filled["--cmd-template"], filled.get("--build-template"), filled.get("--check"), environment)

    def _check_destinations(self) -> None:
        used = set().union(*(self._templates[option].fields for option in self._templates if option != "--check"))
        for name, to in self._file.destinations.items():
            if to == "argument" and name not in used:
                hint = 'write {NAME} into --cmd-template or --build-template, or give it "to": "environment"'
                raise SpaceError(f"parameter {name} occurs in no template", hint)
            if to == "define" and not {name, DEFINES} & used:
                raise SpaceError(f"parameter {name} is a define, but --build-template has no {{defines}}", "add it")
