"""Calls a function once a module has been imported, or at once if it already has been."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

Action = Callable[[ModuleType], None]


def after_import(name: str, action: Action) -> None:
    """Call action(module) once the module `name` has been executed."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        action(module)
    else:
        finder = _Finder(name, action)
        sys.meta_path.insert(0, finder)
        _stay_first(finder)


_waiting: list[_Finder] = []


def _stay_first(finder: _Finder) -> None:
    """Keep the finder first in line: finders that are added later, such as pytest's, may load the module themselves."""
    if not _waiting:
        sys.addaudithook(_before_import)
    _waiting.append(finder)


def _before_import(event: str, arguments: tuple[object, ...]) -> None:
    if event != "import":
        return
    for finder in _waiting:
        if finder.name == arguments[0] and finder in sys.meta_path:
            sys.meta_path.remove(finder)
            sys.meta_path.insert(0, finder)


class _Finder(MetaPathFinder):
    """Lets the other finders find the module, and calls the action once the module has been executed."""

    def __init__(self, name: str, action: Action):
        self.name, self.action = name, action

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, self)
                return spec
        return None


class _Loader(Loader):
    def __init__(self, loader: Loader, finder: _Finder):
        self.loader, self.finder = loader, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
        if module.__spec__ is not None:  # other code must see the loader that it expects
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.finder.action(module)
