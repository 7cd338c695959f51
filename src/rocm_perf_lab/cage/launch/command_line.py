"""The command-line format of launcher.py and cage_init.py: NAME=VALUE ... -- MORE."""

import resource

Settings = dict[str, list[str]]


def split(words: list[str]) -> tuple[Settings, list[str]]:
    """({name: [values]}, the words after the first "--")."""
    end = words.index("--")
    settings: Settings = {}
    for word in words[:end]:
        name, _, value = word.partition("=")
        settings.setdefault(name, []).append(value)
    return settings, words[end + 1 :]


def lower_limit(kind: int, limit: int) -> None:
    """Set a resource limit of this process, but not above its current hard limit."""
    _, hard_limit = resource.getrlimit(kind)
    limit = limit if hard_limit == resource.RLIM_INFINITY else min(limit, hard_limit)
    resource.setrlimit(kind, (limit, limit))


def packed_environment(environment: dict[bytes, bytes]) -> bytes:
    return b"\0".join(name + b"=" + value for name, value in environment.items())


def unpacked_environment(text: bytes) -> dict[bytes, bytes]:
    """The inverse of packed_environment(): {name: value}, in bytes."""
    pairs = (entry.partition(b"=") for entry in text.split(b"\0") if entry)
    return {name: value for name, _, value in pairs}
