"""Builds a cage without bubblewrap: namespaces, mounts, no capabilities.

The mounts are specified as bubblewrap options, so that both mechanisms show the same file system.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import stat
import struct
import sys

import cage_init
import system_calls
from signal_without_enums import signal

TYPE_CHECKING = False  # like typing.TYPE_CHECKING, but typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from command_line import Settings

_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER = 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000
_NEWPID, _NEWNET = 0x20000000, 0x40000000
_ALL_BUT_USER = _NEWNS | _NEWCGROUP | _NEWUTS | _NEWIPC | _NEWPID | _NEWNET
_NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE, _RDONLY = 2, 4, 8, 32, 4096, 16384, 1 << 18, 1
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_BASE, _OLD, _NEW = "/tmp", "/old", "/new"
_SMALL_SIZE = "size=4m"


def start(
    words: list[str],
    channels: tuple[_socket.socket, _socket.socket],
    environment: dict[bytes, bytes],
    options: Settings,
    command: list[str],
) -> int:
    """Fork the process that builds the cage, and return its id. It lives as long as the cage; errors are written to stderr.

    channels: the launcher's end of the channel, and the cage's.
    """
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        signal.set_wakeup_fd(-1)  # the inherited descriptor would wake the parent
        outer, channel = channels
        outer.close()
        os.setsid()
        _enter_namespaces(os.getuid(), os.getgid())
        system_calls.die_with_parent(parent)
        _become_first(words, channel, environment, options, command)
    except Exception as error:
        sys.stderr.write(f"the cage cannot be made: {error!r}\n")
    finally:
        os._exit(1)


def _enter_namespaces(user: int, group: int) -> None:
    """Enter new namespaces, including a user namespace unless this process is root and may create the others directly."""
    if user == 0:
        try:
            system_calls.unshare(_ALL_BUT_USER)
            return
        except PermissionError:
            pass
    system_calls.unshare(_ALL_BUT_USER | _NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _become_first(
    words: list[str], channel: _socket.socket, environment: dict[bytes, bytes], options: Settings, command: list[str]
) -> NoReturn:
    child = os.fork()
    if child == 0:
        # Not die_with_parent(): the parent is in a different namespace, so getppid() returns 0.
        system_calls.prctl(system_calls.PR_SET_PDEATHSIG, 9)
        try:
            _furnish(words)
            cage_init.serve(channel, environment, options, command)
        except Exception as error:
            sys.stderr.write(f"the cage cannot be made: {error!r}\n")
        finally:
            os._exit(1)
    channel.close()
    os.waitpid(child, 0)
    os._exit(0)


def _furnish(words: list[str]) -> None:
    """Set up mounts, loopback and host name; then drop all privileges."""
    system_calls.mount(None, "/", flags=_REC | _PRIVATE)
    system_calls.mount("tmpfs", _BASE, "tmpfs", _NOSUID | _NODEV, "mode=0755")
    for folder in (_OLD, _NEW):
        os.mkdir(_BASE + folder)
    system_calls.pivot_root(_BASE, _BASE + _OLD)
    os.chdir("/")
    system_calls.mount("tmpfs", _NEW, "tmpfs", _NOSUID | _NODEV, f"{_SMALL_SIZE},mode=0755")
    _make_mounts(words)
    system_calls.detach(_OLD)
    os.chdir(_NEW)
    system_calls.pivot_root(".", ".")
    system_calls.detach(".")
    os.chdir("/")
    system_calls.set_host_name(b"cage")
    _raise_loopback()
    system_calls.drop_capabilities()
    system_calls.prctl(system_calls.PR_SET_NO_NEW_PRIVS, 1)


def _raise_loopback() -> None:
    any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(any_socket.fileno(), 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running
    any_socket.close()


def _make_mounts(all_words: list[str]) -> None:
    """Make the mounts that these bubblewrap options describe; only the options that mounts.py uses are supported."""
    words = iter(all_words)
    settings: dict[str, str] = {}
    uppers = 0
    for word in words:
        name = word.removeprefix("--")
        if name in ("size", "perms", "overlay-src"):
            settings[name] = next(words)
            continue
        if name in ("ro-bind", "ro-bind-try", "bind", "dev-bind"):
            source, mount_point = _OLD + next(words), _NEW + next(words)
            if not name.endswith("-try") or os.path.exists(source):
                _bind(source, mount_point, name.removesuffix("-try"))
        elif name == "symlink":
            target, link = next(words), _NEW + next(words)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(target, link)
        elif name == "tmp-overlay":
            uppers += 1
            _overlay(_OLD + settings["overlay-src"], _NEW + next(words), settings.get("size"), f"/layer-{uppers}")
        else:
            _make_simple_mount(name, _NEW + next(words), settings)
        settings = {}


def _make_simple_mount(name: str, path: str, settings: Mapping[str, str]) -> None:
    if name == "remount-ro":
        system_calls.mount(None, path, flags=_REMOUNT | _BIND | _RDONLY | _NOSUID | (0 if path.endswith("/dev") else _NODEV))
        return
    os.makedirs(path, exist_ok=True)
    if name == "tmpfs":
        size = f"size={settings['size']}," if "size" in settings else ""
        system_calls.mount("tmpfs", path, "tmpfs", _NOSUID | _NODEV, f"{size}mode={settings.get('perms', '0755')}")
    elif name == "proc":
        system_calls.mount("proc", path, "proc", _NOSUID | _NODEV | _NOEXEC)
    elif name != "dir":
        raise ValueError(f"unknown word --{name}")


def _bind(source: str, mount_point: str, kind: str) -> None:
    _make_mount_point(mount_point, os.stat(source).st_mode)
    system_calls.mount(source, mount_point, flags=_BIND | _REC)
    attributes = _ATTR_NOSUID | (_ATTR_RDONLY if kind == "ro-bind" else 0) | (0 if kind == "dev-bind" else _ATTR_NODEV)
    system_calls.mount_setattr(mount_point, attributes)


def _make_mount_point(path: str, mode: int) -> None:
    if os.path.lexists(path):
        return
    os.makedirs(path if stat.S_ISDIR(mode) else os.path.dirname(path), exist_ok=True)
    if not stat.S_ISDIR(mode):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def _overlay(source: str, mount_point: str, size: str | None, layer: str) -> None:
    """Keep writes to `mount_point` in memory, as a layer over `source`."""
    os.mkdir(layer)
    system_calls.mount("tmpfs", layer, "tmpfs", _NOSUID | _NODEV, f"size={size},mode=0755" if size else "mode=0755")
    for folder in ("lower", "upper", "work"):
        os.mkdir(f"{layer}/{folder}")
    system_calls.mount(source, f"{layer}/lower", flags=_BIND)  # its name has no commas or colons, which separate options
    os.chmod(f"{layer}/upper", stat.S_IMODE(os.stat(source).st_mode))
    os.makedirs(mount_point, exist_ok=True)
    options = f"lowerdir={layer}/lower,upperdir={layer}/upper,workdir={layer}/work"
    try:
        system_calls.mount("overlay", mount_point, "overlay", _NOSUID | _NODEV, f"{options},userxattr")
    except OSError:
        system_calls.mount("overlay", mount_point, "overlay", _NOSUID | _NODEV, options)
