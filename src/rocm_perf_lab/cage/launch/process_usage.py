"""Resource usage of a cage's processes, observed from outside: memory, processes, deleted files."""

import os
import stat

_PAGE = os.sysconf("SC_PAGE_SIZE")
_INODE_BYTES = 1024  # memory that an inode takes; the kernel also counts extended attributes as inodes (mm/shmem.c)
_MEMORY_FIELDS = (b"RssAnon:", b"RssShmem:", b"VmSwap:", b"VmPTE:")


class Usage:
    """Observes the resources that a cage uses.

    processes: descriptor of the cage's /proc. memory_folders: descriptors of its in-memory file systems. writable: the folders
    whose contents persist.
    """

    def __init__(self, processes: int, memory_folders: list[int], writable: list[str]):
        self._processes, self._folders = processes, memory_folders
        self._kernel_memory = _device_of_kernel_memory()
        self._devices = {os.stat(folder).st_dev for folder in writable}
        self._open: dict[tuple[int, int], int] = {}  # (device, inode) -> bytes

    def current_usage(self) -> tuple[int, int, int]:
        """(tasks, bytes of memory, bytes of deleted files that are still open)."""
        tasks = memory = 0
        self._open = {}
        members = [name for name in os.listdir(self._processes) if name.isdigit() and name != "1"]
        for name in members:
            threads, used = self._status(name)
            tasks, memory = tasks + threads, memory + used
            self._note_open_files(name)
        return tasks, memory + self._bytes_in_files(), self._deleted_bytes()

    def precise_memory(self) -> int:
        """Bytes of memory, with shared memory counted only once. This is slower than current_usage(), and is therefore
        called only if current_usage() finds more than the limit.
        """
        counted = {inode for device, inode in self._open if device == self._kernel_memory}
        members = [name for name in os.listdir(self._processes) if name.isdigit() and name != "1"]
        return sum(self._proportional_bytes(name, counted) for name in members) + self._bytes_in_files()

    def _read(self, path: str) -> bytes:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._processes)
        except OSError:
            return b""
        try:
            parts = []
            while part := os.read(descriptor, 1 << 16):
                parts.append(part)
            return b"".join(parts)
        except OSError:  # the process has just ended
            return b""
        finally:
            os.close(descriptor)

    def _names(self, path: str) -> list[str]:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._processes)
        except OSError:
            return []
        try:
            return os.listdir(descriptor)
        except OSError:
            return []
        finally:
            os.close(descriptor)

    def _status(self, name: str) -> tuple[int, int]:
        threads = used = 0
        for line in self._read(f"{name}/status").splitlines():
            if line.startswith(b"Threads:"):
                threads = int(line.split()[1])
            elif line.startswith(_MEMORY_FIELDS):
                used += int(line.split()[1]) << 10
        return threads, used

    def _note_open_files(self, name: str) -> None:
        """Record the process's open files that have no directory entry: memfd files and deleted files."""
        for number in self._names(f"{name}/fd"):
            try:
                status = os.stat(f"{name}/fd/{number}", dir_fd=self._processes)
            except OSError:
                continue
            if status.st_nlink == 0 and stat.S_ISREG(status.st_mode):
                self._open[status.st_dev, status.st_ino] = status.st_blocks * 512

    def _bytes_in_files(self) -> int:
        used = sum(size for (device, _), size in self._open.items() if device == self._kernel_memory)
        seen: dict[int, int] = {}
        for folder in self._folders:
            stats = os.fstatvfs(folder)
            inodes = stats.f_files - stats.f_ffree
            seen[os.fstat(folder).st_dev] = (stats.f_blocks - stats.f_bfree) * stats.f_frsize + inodes * _INODE_BYTES
        return used + sum(seen.values())

    def _deleted_bytes(self) -> int:
        return sum(size for (device, _), size in self._open.items() if device in self._devices)

    def _proportional_bytes(self, name: str, counted: set[int]) -> int:
        """A process's share of memory. counted: inodes of in-memory files that have already been counted."""
        text = self._read(f"{name}/smaps")
        if not text:
            return self._status(name)[1]
        total = 0
        take: tuple[bytes, ...] = ()
        for line in text.splitlines():
            words = line.split()
            if not words[0].endswith(b":"):
                take = self._charged_fields(words, counted)
            elif words[0] in take:
                total += int(words[1]) << 10
        return total

    def _charged_fields(self, words: list[bytes], counted: set[int]) -> tuple[bytes, ...]:
        """The fields of a mapping that count towards the total."""
        major, minor = (int(part, 16) for part in words[3].split(b":"))
        device, inode = os.makedev(major, minor), int(words[4])
        if inode == 0:
            return (b"Pss:", b"SwapPss:")
        if device == self._kernel_memory and inode not in counted:
            return (b"Pss:", b"SwapPss:")
        return (b"Anonymous:", b"SwapPss:")


def _device_of_kernel_memory() -> int:
    """The device of in-memory files that have no directory entry (memfd, shared anonymous memory)."""
    descriptor = os.memfd_create("probe", os.MFD_CLOEXEC)
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)
