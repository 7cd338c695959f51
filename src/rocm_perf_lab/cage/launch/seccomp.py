"""System calls refused in a cage: ways around its namespaces, and access to resources that namespaces do not separate."""

import ctypes
import errno
import struct

import system_calls

_ARCH_X86_64, _X32_BIT = 0xC000003E, 0x40000000
_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in struct seccomp_data; low halves of the arguments

_REFUSED = {
    # other processes' memory and descriptors
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "pidfd_getfd": 438, "process_madvise": 440,
    # namespaces and mounts
    "pivot_root": 155, "chroot": 161, "mount": 165, "umount2": 166, "unshare": 272, "setns": 308, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
    "open_tree_attr": 467, "name_to_handle_at": 303, "open_by_handle_at": 304, "fanotify_init": 300,
    # resources that namespaces do not separate, and memory that is charged to no process
    "keyctl": 250, "add_key": 248, "request_key": 249, "syslog": 103, "acct": 163, "quotactl": 179, "quotactl_fd": 443,
    "shmget": 29, "shmat": 30, "shmctl": 31, "remap_file_pages": 216, "memfd_secret": 447, "semget": 64, "msgget": 68,
    # large parts of the kernel that no honest program here needs
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "reboot": 169, "swapon": 167, "swapoff": 168, "iopl": 172, "ioperm": 173, "settimeofday": 164,
    "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305, "sethostname": 170, "setdomainname": 171,
    "modify_ldt": 154, "vhangup": 153, "lookup_dcookie": 212, "nfsservctl": 180, "uselib": 134, "ustat": 136, "sysfs": 139,
}  # fmt: skip
# Refused as if the file system had no extended attributes, because attributes use kernel memory that nothing limits.
_UNSUPPORTED = {"setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "setxattrat": 463}
_FCNTL, _F_SETLEASE = 72, 1024  # a lease on a file visible in the cage blocks other processes that open it
_CLONE, _CLONE3, _SOCKET, _SOCKETPAIR, _IOCTL = 56, 435, 41, 53, 16
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEW*
_INET, _INET6, _NETLINK, _STREAM, _SEQPACKET = 2, 10, 16, 1, 5
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

_Step = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


def _refuse(number: int = errno.EPERM) -> _Step:
    return (_RETURN, 0, 0, _ERRNO | number)


def _only_if(call: int, body: list[_Step]) -> list[_Step]:
    """Steps that run `body` for one system call only. `body` ends in a return, or falls through to the next steps."""
    return [(_EQUAL, 0, len(body), call), *body]


def _allow_only(offset: int, mask: int, values: tuple[int, ...]) -> list[_Step]:
    """Allow the call if the argument at `offset`, masked, is one of `values`; otherwise refuse it with EACCES."""
    masked = [(_LOAD, 0, 0, offset)] + ([(_AND, 0, 0, mask)] if mask else [])
    tests = [(_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [*masked, *tests, _refuse(errno.EACCES), (_RETURN, 0, 0, _ALLOW)]


def program() -> list[_Step]:
    """The filter, as classic BPF instructions."""
    allow = (_RETURN, 0, 0, _ALLOW)
    steps = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, _ARCH_X86_64), (_RETURN, 0, 0, _KILL)]
    steps += [(_LOAD, 0, 0, _NUMBER), (_GREATER_EQUAL, 0, 1, _X32_BIT), _refuse(errno.ENOSYS)]
    for call in sorted(_REFUSED.values()):
        steps += [(_EQUAL, 0, 1, call), _refuse()]
    for call in sorted(_UNSUPPORTED.values()):
        steps += [(_EQUAL, 0, 1, call), _refuse(errno.EOPNOTSUPP)]
    steps += _only_if(_FCNTL, [(_LOAD, 0, 0, _SECOND), (_EQUAL, 0, 1, _F_SETLEASE), _refuse(), allow])
    steps += [(_EQUAL, 0, 1, _CLONE3), _refuse(errno.ENOSYS)]  # filters cannot read its flags; C libraries fall back to clone
    steps += _only_if(_CLONE, [(_LOAD, 0, 0, _FIRST), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), _refuse(), allow])
    steps += _only_if(_SOCKET, _allow_only(_FIRST, 0, (_INET, _INET6, _NETLINK)))
    # Datagram sockets made as a pair could still send to any address.
    steps += _only_if(_SOCKETPAIR, _allow_only(_SECOND, 0xF, (_STREAM, _SEQPACKET)))
    ioctl = [(_LOAD, 0, 0, _SECOND), (_EQUAL, 1, 0, _TIOCSTI), (_EQUAL, 0, 1, _TIOCLINUX), _refuse(), allow]
    return [*steps, *_only_if(_IOCTL, ioctl), allow]


def install() -> None:
    """Install the filter for this process and everything that it executes or starts."""
    steps = program()
    code = b"".join(struct.pack("<HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(buffer)), 16)
    system_calls.prctl(system_calls.PR_SET_NO_NEW_PRIVS, 1)
    system_calls.prctl(system_calls.PR_SET_SECCOMP, 2, ctypes.addressof(header))
