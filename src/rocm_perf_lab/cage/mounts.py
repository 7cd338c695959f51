"""The file system that a caged command sees, as bubblewrap options.

Later options cover earlier ones, so a folder comes before its contents.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.cage.homes import home_folders, is_open, parts_to_show
from rocm_perf_lab.cage.limits import CageLimits
from rocm_perf_lab.cage.needed_paths import needed_by
from rocm_perf_lab.cage.view import View

_SYSTEM_FOLDERS = ("/usr", "/opt", "/sys", "/nix/store", "/gnu/store")
_LINKED_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # links into /usr on most systems
_ETC_ENTRIES = (
    "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "passwd", "group", "nsswitch.conf", "hosts",
    "localtime", "timezone", "locale.alias", "OpenCL", "debian_version", "os-release", "lsb-release", "python3", "hipcc",
)  # fmt: skip
_NOT_OF_SYS = ("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/firmware", "/sys/fs/bpf")
_NOT_OF_PROC = ("/proc/keys", "/proc/key-users")  # these list the keys of all users and are of no use to a program
_DEVICES = ("null", "zero", "full", "random", "urandom")
_COVERED_PREFIXES = tuple(f"{path}/" for path in (*_SYSTEM_FOLDERS, *_LINKED_FOLDERS))


@dataclass(frozen=True)
class Mounts:
    """The mounts of a cage. words: bubblewrap's options. in_memory: the folders in the cage whose contents are in memory."""

    words: list[str]
    in_memory: list[str]


def mounts(command: Sequence[str], folder: Path, view: View, limits: CageLimits, overlays: bool) -> Mounts:
    """The mounts for a command. folder: the current folder. overlays: whether writes to it can go to a layer in memory."""
    size = str(limits.memory_bytes)
    writable = {path for path in _both_names(view.writable)}
    real_folder = Path(os.path.realpath(folder))
    layers = _layer(real_folder, size, overlays) if not _lies_in(real_folder, writable) else {}
    covering = set(layers) if is_open(real_folder) else set()
    shown = {path: source for path, source in _shown_paths([folder, *view.readable, *needed_by(command, folder)])}
    words = _system(size, view.gpu)
    places = {*shown, *writable, *layers}
    for path in sorted(places):
        if path in layers:
            words += layers[path]
        elif path in writable:
            words += ["--bind", os.path.realpath(path), str(path)]
        elif (device := _device_of(path, shown[path])) is not None:
            if not _lies_in(path, covering | writable | (set(shown) - {path}), device):
                words += _binding(shown[path], path, places)
    words += _replacements(view)
    return Mounts([*words, "--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"], _in_memory(layers))


def _device_of(path: Path, source: Path) -> int | None:
    """The device that must be mounted for `path` to exist: for a symbolic link, the device of the link, not of its target.

    None if the path is gone: other programs may remove an entry (of /tmp, for example) after it was listed.
    """
    try:
        return os.lstat(path if os.path.islink(path) else source).st_dev
    except FileNotFoundError:
        return None


def _binding(source: Path, path: Path, places: Iterable[Path]) -> list[str]:
    """The options that show `source` at `path`; a link stays a link, since a mount would show its target, which may be hidden.

    places: all paths at which something is shown. A link above one of these is left out, since nothing can be shown below it.
    """
    if not os.path.islink(source):
        return ["--ro-bind-try", str(source), str(path)]
    if any(other != path and other.is_relative_to(path) for other in places):
        return []
    return ["--symlink", os.readlink(source), str(path)]


def _system(size: str, gpu: bool) -> list[str]:
    words: list[str] = []
    for path in filter(os.path.isdir, _SYSTEM_FOLDERS):
        words += ["--ro-bind", path, path]
    for path in filter(os.path.isdir, _NOT_OF_SYS):
        words += ["--size", "4096", "--tmpfs", path, "--remount-ro", path]
    for path in filter(os.path.isdir, _LINKED_FOLDERS):
        words += ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
    for path in (f"/etc/{name}" for name in _ETC_ENTRIES):
        words += ["--ro-bind", os.path.realpath(path), path] if os.path.exists(path) else []
    words += ["--proc", "/proc", "--dir", "/run", "--symlink", "/tmp", "/var/tmp", "--tmpfs", "/dev"]
    for path in filter(os.path.exists, _NOT_OF_PROC):
        words += ["--ro-bind", "/dev/null", path]
    for path in _devices(gpu):
        words += ["--dev-bind", path, path]
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        words += ["--symlink", f"/proc/self/{target}", f"/dev/{name}"]
    for path in ("/tmp", "/dev/shm"):
        words += ["--perms", "1777", "--size", size, "--tmpfs", path]
    return words


def _devices(gpu: bool) -> list[str]:
    paths = [f"/dev/{name}" for name in _DEVICES]
    if gpu:
        paths += ["/dev/kfd", *sorted(str(path) for path in Path("/dev/dri").glob("render*"))]
    return [path for path in paths if os.path.exists(path)]


def _layer(folder: Path, size: str, overlays: bool) -> dict[Path, list[str]]:
    """A mapping from the current folder to the options for a layer that receives its writes; empty if there is no layer."""
    if not is_open(folder):
        return {} if folder in (Path("/"), Path("/tmp")) else {folder: ["--size", size, "--tmpfs", str(folder)]}
    return {folder: ["--overlay-src", str(folder), "--tmp-overlay", str(folder)]} if overlays else {}


def _in_memory(layers: Iterable[Path]) -> list[str]:
    return ["/tmp", "/dev/shm", *map(str, layers)]


def _shown_paths(paths: Iterable[Path]) -> Iterable[tuple[Path, Path]]:
    """Pairs (path inside the cage, path shown there), for both the given and the real names.

    In home folders, only non-hidden entries are shown. Paths in system folders are omitted, since these folders are shown
    anyway: a source file includes hundreds of system headers, all of which are among the paths.
    """
    homes = home_folders()
    for path in dict.fromkeys(map(os.path.abspath, paths)):
        real = os.path.realpath(path)
        if _is_of_system(path) and _is_of_system(real):
            continue
        for part in parts_to_show(Path(real), homes):
            yield part, part
            if (given_path := Path(path) / part.relative_to(real)) != part:
                yield given_path, part


def _both_names(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        yield Path(os.path.abspath(path))
        yield Path(os.path.realpath(path))


def _lies_in(path: Path, folders: Iterable[Path], device: int | None = None) -> bool:
    """Whether the path is already shown, as part of one of the folders or of the system. device: the path's device, since a
    folder's layer does not show other devices that are mounted in it; None to ignore devices.
    """
    return _is_of_system(str(path)) or any(
        path.is_relative_to(folder) and device in (None, os.stat(folder).st_dev) for folder in folders
    )


def _is_of_system(path: str) -> bool:
    return f"{path}/".startswith(_COVERED_PREFIXES)


def _replacements(view: View) -> list[str]:
    words: list[str] = []
    for path, source in view.replaced:
        words += ["--ro-bind", os.path.realpath(source), os.path.realpath(path)]
    return words
