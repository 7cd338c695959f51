"""./dev from outside: usage, and what it does when setting up fails."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import needs

REPOSITORY = Path(__file__).resolve().parents[2]
DEV = REPOSITORY / "dev"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def can_bootstrap() -> bool:
    """Only real root can run debootstrap, in a separate mount namespace."""
    return os.getuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


def dev(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(DEV), *arguments], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)


@pytest.fixture
def debootstrap(tmp_path: Path):
    """Runs ./dev with an empty cache and a debootstrap that records its arguments and then does what the test says."""

    def run(does: str, **environment: str) -> tuple[subprocess.CompletedProcess, str, Path]:
        noted = tmp_path / "arguments"
        tool = tmp_path / "bin" / "debootstrap"
        tool.parent.mkdir(exist_ok=True)
        find_target = "for target; do case $target in */root.partial) break; esac; done"
        tool.write_text(f'#!/bin/sh\necho "$@" >"{noted}"\n{find_target}\n{does}\n')
        tool.chmod(0o755)
        done = dev(
            "run",
            "true",
            XDG_CACHE_HOME=str(tmp_path / "cache"),
            PATH=f"{tool.parent}:{os.environ['PATH']}",
            ROCM_PERF_DEV="root",
            ROCM_PERF_DEBIAN_MIRROR="http://mirror.example/debian",
            **environment,
        )
        return done, noted.read_text(), tmp_path / "cache" / "rocm-perf-lab"

    return run


@pytest.mark.parametrize("arguments", [("nonsense",), ("run",)])
def test_wrong_usage(arguments: tuple[str, ...]) -> None:
    done = dev(*arguments)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("usage: ./dev")


def test_help_names_every_command() -> None:
    done = dev("help")
    assert done.returncode == 0
    commands = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and line[2] != " "}
    assert commands == {"demo", "test", "bench", "shell", "run", "help"}


@pytest.mark.skipif(not can_bootstrap(), reason="needs root and mount namespaces")
@pytest.mark.skipif(not KEYRING.exists(), reason="no keyring of Debian's archive here")
def test_failed_download_is_named_and_leaves_no_root(debootstrap) -> None:
    done, arguments, cache = debootstrap('mkdir -p "$target/usr"; echo "E: Failed getting release file http://x"; exit 1')
    assert done.returncode == 69
    assert "Failed getting release file" in done.stderr
    assert "fix: check network and proxy, and that http://mirror.example/debian" in done.stderr
    assert str(cache / "log" / "base.log") in done.stderr
    assert not (cache / "root").exists()
    assert "--force-check-gpg" in arguments

    # When started again, nothing from the first attempt gets in the way of the second.
    done, _, _ = debootstrap('test ! -e "$target" && echo "E: second attempt"; exit 1')
    assert "E: second attempt" in done.stderr


@pytest.mark.skipif(not can_bootstrap(), reason="needs root and mount namespaces")
def test_signatures_are_skipped_only_on_request_and_with_a_message(debootstrap) -> None:
    done, arguments, _ = debootstrap("exit 1", ROCM_PERF_DEV_UNVERIFIED="1")
    assert "--no-check-gpg" in arguments and "--force-check-gpg" not in arguments
    assert "NOT checked" in done.stderr


@pytest.mark.skipif(not shutil.which("apt-config"), reason="no apt here")
def test_a_machine_whose_apt_names_no_mirror_is_told_how_to_name_one(tmp_path: Path) -> None:
    (tmp_path / "apt").mkdir()
    (tmp_path / "apt.conf").write_text(f'Dir::Etc "{tmp_path}/apt";\n')
    done = dev(
        "run",
        "true",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        APT_CONFIG=str(tmp_path / "apt.conf"),
        ROCM_PERF_DEV="root",
        ROCM_PERF_DEBIAN_MIRROR="",
    )
    assert (done.returncode, done.stdout) == (69, ""), done.stderr
    assert "apt's configuration names no Debian mirror" in done.stderr
    assert "fix: name one: ROCM_PERF_DEBIAN_MIRROR=URL" in done.stderr
    assert not (tmp_path / "cache" / "rocm-perf-lab" / "root.partial").exists()


def test_an_ordinary_user_is_told_about_all_missing_packages_at_once(tmp_path: Path) -> None:
    """`id` reports an ordinary user, and the folder of tools lacks those that make a root without being root."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if tool.name not in ("newuidmap", "mmdebstrap", "id"):
            (tools / tool.name).symlink_to(tool)
    (tools / "id").write_text("#!/bin/sh\ncase $* in *n*) echo somebody ;; *) echo 4711 ;; esac\n")
    (tools / "id").chmod(0o755)
    done = dev(
        "run",
        "true",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        PATH=str(tools),
        ROCM_PERF_DEV="root",
        ROCM_PERF_DEBIAN_MIRROR="http://mirror.example/debian",
        ROCM_PERF_DEV_UNVERIFIED="1",
    )
    assert done.returncode == 69
    assert "this machine has not: uidmap mmdebstrap" in done.stderr
    assert "sudo apt install uidmap mmdebstrap; sudo usermod --add-subuids 100000-165535" in done.stderr


def test_shellcheck_finds_nothing() -> None:
    shellcheck = needs.program("shellcheck")
    scripts = [DEV, REPOSITORY / ".ci" / "run", *sorted((REPOSITORY / "env").glob("*.sh"))]
    done = subprocess.run([shellcheck, "-x", *scripts], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
