"""confined_launcher.py MEMORY_BYTES FILE_BYTES -- COMMAND...: set the limits on this process, then become COMMAND.

RLIMIT_DATA and not RLIMIT_AS limits memory: GPU runtimes reserve terabytes of addresses that they never touch.
"""

import contextlib
import ctypes
import os
import resource
import sys

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000


def without_network() -> None:
    """A network namespace with nothing in it; left out silently where the system forbids it (containers often do)."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) == 0:
        return
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def main() -> None:
    memory, file_size = int(sys.argv[1]), int(sys.argv[2])
    command = sys.argv[4:]
    without_network()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where memory runs out, this is what the system ends
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        os._exit(127)


main()
