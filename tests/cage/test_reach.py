"""What lies outside the cage cannot be reached from inside; each attempt succeeds without a cage."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

ATTEMPTS = Path(__file__).with_name("reaching.py").read_text()
# Root may be denied these even without a cage (in a container, or by a security module).
NOT_EVERYWHERE = {
    "a namespace of its own", "io_uring", "secret memory", "the judge, by tracing", "the judge's memory, by a vector",
    "an attribute of a file", "a lease on a file", "the kernel's keys",
}  # fmt: skip


@pytest.fixture(scope="module")
def sockets():
    """Servers outside the cage: a port of this machine, and sockets with an abstract name."""
    listeners = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
    listeners[1].bind(f"\0cage-{os.getpid()}")
    listeners[1].listen()
    yield {"port": listeners[0].getsockname()[1], "abstract": f"cage-{os.getpid()}"}
    for listener in listeners:
        listener.close()


def reached(caged, sockets) -> dict[str, bool]:
    path, datagrams = caged.folder / "socket", caged.folder / "datagrams"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        for one, place in ((listener, path), (receiver, datagrams)):
            one.bind(str(place))
            place.chmod(0o777)
        listener.listen()
        given = sockets | {
            "home": str(caged.home),
            "elsewhere": str(caged.elsewhere),
            "judge": caged.process.pid,
            "socket": str(path),
            "datagrams": str(datagrams),
        }
        ended = caged.python(ATTEMPTS, json.dumps(given))
    path.unlink()
    datagrams.unlink()
    assert ended.succeeded, ended
    return json.loads(ended.stdout)


def test_nothing_outside_the_cage_is_reached(caged, sockets):
    found = reached(caged, sockets)
    assert len(found) > 15 and not any(found.values()), [name for name, got_in in found.items() if got_in]
    assert not any(caged.elsewhere.iterdir())


def test_without_a_cage_everything_is_reached(uncaged, sockets):
    found = reached(uncaged, sockets)
    assert {name for name, got_in in found.items() if not got_in} <= NOT_EVERYWHERE


def test_a_home_folder_as_the_current_folder_shows_only_its_visible_entries(caged):
    code = "import os; print(sorted(os.listdir()), open('project/here').read()); open('made', 'w')"
    project, caged.folder = caged.folder, caged.home
    try:
        ended = caged.python(code)
    finally:
        caged.folder = project
    assert (ended.status, ended.stdout) == (0, b"['project'] as it was\n"), ended
    assert not (caged.home / "made").exists()


@pytest.mark.parametrize("above", [False, True], ids=["in the home folder", "above it"])
def test_a_link_shows_nothing_that_is_hidden(caged, above):
    links = {"folder": ".ssh", "file": ".ssh/id", "whole": str(caged.home / ".ssh"), "up": "../home/.ssh", "chain": "folder",
             "seen": "project/here", "gone": "nowhere"}  # fmt: skip
    for name, target in links.items():
        (caged.home / name).symlink_to(target)
    code = """
        import os, sys
        home = sys.argv[1].strip("+")
        for name in sorted(os.listdir(home)):
            for path in (f"{home}/{name}", f"{home}/{name}/id"):
                try: print(name, os.path.islink(f"{home}/{name}"), open(path).read())
                except OSError: pass
    """
    project, caged.folder = caged.folder, caged.home.parent if above else caged.home
    try:
        ended = caged.python(code, f"+{caged.home}")
    finally:
        caged.folder = project
        for name in links:
            (caged.home / name).unlink()
    assert (ended.status, ended.stdout) == (0, b"seen True as it was\n"), ended


def test_files_written_into_the_current_folder_do_not_stay(caged):
    code = """
        import os
        open("new", "w").write("x"); open("here", "a").write(" and more")
        print(sorted(os.listdir()), open("here").read())
    """
    ended = caged.python(code)
    if caged.overlays:
        assert ended.stdout == b"['here', 'new'] as it was and more\n", ended
    else:
        assert b"Read-only file system" in ended.stderr
    assert [path.name for path in caged.folder.iterdir()] == ["here"]
    assert (caged.folder / "here").read_text() == "as it was"


def test_everything_that_is_requested_is_visible(caged):
    """Arguments that name files, readable and replaced files, and variables by name."""
    named, more, other = (caged.elsewhere / name for name in ("named", "more", "other"))
    for path in (named, more, other):
        path.write_text(path.name)
    view = {"readable": [str(more)], "replaced": [[str(caged.folder / "here"), str(other)]], "keep_env": ["MYSECRET"]}
    code = """
        import os, sys
        print([open(path).read() for path in (sys.argv[1], sys.argv[2].strip("+"), "here")], os.environ["MYSECRET"])
        for path in (sys.argv[1], "here"):
            try: open(path, "w"); print("changed", path)
            except OSError: pass
        try: print(sorted(os.listdir(os.path.dirname(sys.argv[1]))))
        except OSError: pass
    """
    ended = caged.python(code, named, f"+{more}", view=view)
    assert ended.stdout == b"['named', 'more', 'other'] SECRET\n['more', 'named']\n", ended
    for path in (named, more, other):
        path.unlink()
    assert (caged.folder / "here").read_text() == "as it was"


def test_only_files_and_folders_are_left_in_the_writable_folder(caged):
    code = """
        import os, sys
        os.chdir(sys.argv[1])
        os.mkdir("a"); os.symlink("/etc/passwd", "link"); os.symlink("/", "a/link"); os.mkfifo("a/pipe"); open("a/file", "w")
        os.chmod("a/file", 0o4755); os.chmod("a", 0)
    """
    ended = caged.python(code, caged.out)
    left = sorted(str(path.relative_to(caged.out)) for path in caged.out.rglob("*"))
    mode = (caged.out / "a" / "file").stat().st_mode & 0o7777
    (caged.out / "a" / "file").unlink()
    (caged.out / "a").rmdir()
    assert ended.succeeded and left == ["a", "a/file"] and mode == 0o755


def test_each_run_has_the_same_process_ids(caged):
    """So a program that prints its own id prints the same one each time, and it sees no other processes."""
    code = "import os; print(os.getpid(), sorted(name for name in os.listdir('/proc') if name.isdigit()))"
    assert {caged.python(code).stdout for _ in range(2)} == {b"2 ['1', '2']\n"}
