"""reaching.py JSON: attempts to reach what lies outside the cage. Prints the attempts that succeeded, as a JSON object.

JSON: {home, elsewhere, judge, port, socket, datagrams, abstract}: paths, the judge's process id, a port and sockets of others.
"""

import ctypes
import errno
import fcntl
import json
import os
import socket
import struct
import sys

GIVEN = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)


def called(number, *arguments):
    """A system call by its number; raises OSError."""
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def connected(family, address):
    with socket.socket(family) as one:
        one.settimeout(5)
        one.connect(address)
    return True


def datagram_by_pair():
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b"x", GIVEN["datagrams"])


def memory_of_judge():
    with open(f"/proc/{GIVEN['judge']}/maps") as maps:
        address = int(maps.readline().split("-")[0], 16)
    with open(f"/proc/{GIVEN['judge']}/mem", "rb") as memory:
        memory.seek(address)
        return memory.read(4) == b"\x7fELF"


def read_by_vector():
    local, place = ctypes.create_string_buffer(4), []
    with open(f"/proc/{GIVEN['judge']}/maps") as maps:
        place.append(int(maps.readline().split("-")[0], 16))
    ours, theirs = (struct.pack("QQ", address, 4) for address in (ctypes.addressof(local), place[0]))
    return called(310, GIVEN["judge"], ours, ctypes.c_ulong(1), theirs, ctypes.c_ulong(1), ctypes.c_ulong(0)) == 4


def traced_judge():
    called(101, 16, GIVEN["judge"], 0, 0)  # attach
    os.waitpid(GIVEN["judge"], 0x40000000)
    called(101, 17, GIVEN["judge"], 0, 0)
    return True


def pushed_into_terminal():
    """Whether the call reaches the driver, which finds no terminal here."""
    try:
        return fcntl.ioctl(0, 0x5412, b"x") == 0
    except OSError as error:
        return error.errno in (errno.ENOTTY, errno.ENODEV)


def io_uring_started():
    try:
        return called(425, ctypes.c_uint(1), ctypes.create_string_buffer(120)) >= 0
    except OSError as error:
        return error.errno not in (errno.EPERM, errno.EACCES)


def memory_that_nobody_is_charged_with():
    return called(447, 0) >= 0  # memfd_secret


def new_namespace():
    child = os.fork()
    if child == 0:
        os._exit(0 if libc.unshare(0x10000000) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def leased():
    """A lease holds up everybody else who opens the file."""
    with open("leased", "wb") as file:
        return fcntl.fcntl(file, 1024, fcntl.F_WRLCK) == 0


def file_with_attribute():
    open("attributed", "wb").close()
    return os.setxattr("attributed", "user.long", bytes(1000)) is None


ATTEMPTS = {
    "a secret of the home folder": lambda: open(GIVEN["home"] + "/.ssh/id").read() == "SECRET KEY",
    "the home folder's entries": lambda: ".ssh" in os.listdir(GIVEN["home"]),
    "a file elsewhere": lambda: bool(open(GIVEN["elsewhere"] + "/made", "w").write("x")),
    "passwords": lambda: bool(open("/etc/shadow")),
    "keys of the environment": lambda: "SECRET" in os.environ.values(),
    "the judge, by a signal": lambda: os.kill(GIVEN["judge"], 0) is None,
    "the judge, by /proc": lambda: "driver.py" in open(f"/proc/{GIVEN['judge']}/cmdline").read(),
    "the judge's memory": memory_of_judge,
    "the judge's memory, by a vector": read_by_vector,
    "the judge, by tracing": traced_judge,
    "a socket with a path": lambda: connected(socket.AF_UNIX, GIVEN["socket"]),
    "a socket with an abstract name": lambda: connected(socket.AF_UNIX, "\0" + GIVEN["abstract"]),
    "a socket for datagrams": datagram_by_pair,
    "this machine's network": lambda: connected(socket.AF_INET, ("127.0.0.1", GIVEN["port"])),
    "what types into a terminal": pushed_into_terminal,
    "io_uring": io_uring_started,
    "secret memory": memory_that_nobody_is_charged_with,
    "a namespace of its own": new_namespace,
    "a set of semaphores": lambda: called(64, 0, ctypes.c_long(1), 0o600) >= 0,
    "a message queue": lambda: called(68, 0, 0o600) >= 0,
    "a lease on a file": leased,
    "an attribute of a file": file_with_attribute,
    "the kernel's keys": lambda: open("/proc/keys").read() != "",
}

found = {}
for name, attempt in ATTEMPTS.items():
    try:
        found[name] = bool(attempt())
    except (OSError, ValueError):
        found[name] = False
print(json.dumps(found))
