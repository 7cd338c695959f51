"""env/machine.sh: what ./dev reads from the configuration of the machine it runs on."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

REPOSITORY = Path(__file__).resolve().parents[2]


def machine(call: str, **environment: str) -> list[str]:
    """The output lines of a shell command that uses env/machine.sh's functions, in a nearly empty environment."""
    shell = f'set -euo pipefail; . "{REPOSITORY}/env/machine.sh"; {call}'
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environment}
    done = subprocess.run(["bash", "-c", shell], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def apt_folder(tmp_path: Path, files: dict[str, str]) -> Path:
    folder = tmp_path / "apt"
    (folder / "sources.list.d").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "mirror"),
    [
        pytest.param({}, [], id="nothing configured"),
        pytest.param(
            {"sources.list": "# deb http://old/debian sid main\ndeb http://a.example/debian/ bookworm main non-free\n"},
            ["http://a.example/debian"],
            id="one-line, comment and trailing slash",
        ),
        pytest.param(
            {"sources.list": "deb [arch=amd64 signed-by=/k.gpg] https://a.example/debian trixie main # ours\n"},
            ["https://a.example/debian"],
            id="one-line with options",
        ),
        pytest.param(
            {
                "sources.list": "deb http://a.example/debian-security bookworm-security main\n"
                "deb-src http://b.example/debian bookworm main\n"
                "deb http://c.example/debian bookworm contrib\n"
                "deb http://d.example/ubuntu noble main\n"
                "deb cdrom:[Debian]/ bookworm main\n"
            },
            [],
            id="none of these is a mirror of the archive",
        ),
        pytest.param(
            {
                "sources.list.d/a.list": "deb https://pkg.example/runner/debian bookworm main\n",
                "sources.list.d/debian.sources": "Types: deb\nURIs: http://a.example/debian\nSuites: sid\nComponents: main\n",
                "sources.list.d/docker.list": "deb https://download.example/linux/debian bookworm stable\n",
            },
            ["http://a.example/debian"],
            id="the archive before third parties",
        ),
        pytest.param(
            {
                "sources.list.d/x.sources": "Types: deb\nURIs: http://off.example/debian\nSuites: sid\n"
                "Components: main\nEnabled: no\n\n# another\nTypes: deb-src\n  deb\nURIs:\n http://on.example/debian\n"
                "Suites: sid\n trixie\nComponents: main"
            },
            ["http://on.example/debian"],
            id="deb822: disabled paragraph, values on continuation lines, no newline at the end",
        ),
    ],
)
def test_debian_mirror(tmp_path: Path, files: dict[str, str], mirror: list[str]) -> None:
    assert machine(f'debian_mirror "{apt_folder(tmp_path, files)}"') == mirror


def test_another_state_of_the_archive_is_beside_that_of_the_image(tmp_path: Path) -> None:
    """The form written by debuerreotype, which makes Debian's images."""
    sources = "".join(
        f"Types: deb\n# http://kept.example/archive/{name}/20260918T000000Z\nURIs: http://a.example/{name}\nSuites: sid\n\n"
        for name in ("debian", "debian-security")
    )
    kept = apt_folder(tmp_path, {"sources.list.d/debian.sources": sources})
    assert machine(f"debian_snapshot {kept} 20261030T140000Z") == ["http://kept.example/archive/debian/20261030T140000Z"]
    (kept / "sources.list.d/debian.sources").write_text(sources.replace("# ", "#"))
    with pytest.raises(subprocess.CalledProcessError) as failure:
        machine(f"debian_snapshot {kept} 20261030T140000Z")
    assert "names no state of the archive" in failure.value.stderr and "--build-arg MIRROR" in failure.value.stderr


def test_debian_mirror_from_a_mirror_list(tmp_path: Path) -> None:
    mirrors = tmp_path / "mirrors.list"
    mirrors.write_text("# chosen by the cloud\n\nhttps://cloud.example/debian\tpriority:1\n")
    files = {"sources.list": f"deb mirror+file://{mirrors} trixie main\n"}
    assert machine(f'debian_mirror "{apt_folder(tmp_path, files)}"') == ["https://cloud.example/debian"]


words = st.from_regex(r"[a-z][a-z0-9./-]{0,8}", fullmatch=True)
sources = st.tuples(words, words, st.lists(words, min_size=1, max_size=3))


@settings(max_examples=25, deadline=None)
@given(st.lists(sources, min_size=1, max_size=4))
def test_both_forms_of_sources_give_the_same_result(tmp_path_factory: pytest.TempPathFactory, entries: list) -> None:
    lines = [f"{uri} {suite} {' '.join(components)}" for uri, suite, components in entries]
    one_line = {"sources.list": "".join(f"deb {line}\n" for line in lines)}
    deb822 = {
        "sources.list.d/s.sources": "\n\n".join(
            f"Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: {' '.join(components)}"
            for uri, suite, components in entries
        )
    }
    for files in (one_line, deb822):
        folder = apt_folder(tmp_path_factory.mktemp("sources"), files)
        assert [line.split() for line in machine(f'apt_sources "{folder}"')] == [line.split() for line in lines]


@pytest.mark.skipif(not shutil.which("apt-config"), reason="no apt here")
def test_transport_is_taken_from_apt(tmp_path: Path) -> None:
    configuration = tmp_path / "apt.conf"
    configuration.write_text('Acquire::http::Proxy "http://proxy.example:3128";\nAPT::Get::Assume-Yes "true";\n')
    lines = machine("apt_transport", APT_CONFIG=str(configuration))
    assert 'Acquire::http::Proxy "http://proxy.example:3128";' in lines
    assert not [line for line in lines if not line.startswith("Acquire::")]
    assert machine("http_proxy_of_apt", APT_CONFIG=str(configuration)) == ["http://proxy.example:3128"]


def test_pip_paths_come_from_files_and_variables(tmp_path: Path) -> None:
    for name in ("index/simple", "index/files", "wheels", "more wheels", "variable"):
        (tmp_path / name).mkdir(parents=True)
    constraints = tmp_path / "constraints.txt"
    constraints.touch()
    home = tmp_path / "home"
    (home / ".config/pip").mkdir(parents=True)
    configuration = home / ".config/pip/pip.conf"
    configuration.write_text(
        f"[global]\nindex-url = https://pypi.example/simple\nextra-index-url =\n    file://{tmp_path}/index/simple/\n"
        f"    file://localhost{tmp_path}/absent/simple\n# find-links = {tmp_path}/index/files\n"
        f"find-links={tmp_path}/wheels\n[install]\nconstraint = {constraints}"
    )
    paths = machine("pip_local_paths", HOME=str(home), PIP_FIND_LINKS=f"{tmp_path}/variable /nowhere")
    # The parent of ".../simple", as its pages link to files beside it.
    expected = [tmp_path / "index", tmp_path / "wheels", constraints, tmp_path / "variable"]
    assert [path for path in paths if path.startswith(str(tmp_path))] == [str(path) for path in expected]
    assert str(configuration) in machine("pip_config_files", HOME=str(home))


def test_certificates_named_by_the_environment(tmp_path: Path) -> None:
    bundle, other = tmp_path / "bundle.pem", tmp_path / "other.pem"
    bundle.touch()
    other.touch()
    environment = {"SSL_CERT_FILE": str(bundle), "PIP_CERT": str(other), "CURL_CA_BUNDLE": str(tmp_path / "absent")}
    assert machine("certificate_bundle", **environment) == [str(bundle)]
    found = machine("certificate_files", **environment)
    assert str(bundle) in found and str(other) in found and str(tmp_path / "absent") not in found


@pytest.mark.parametrize(("content", "usable"), [(b"\0HSA_MODEL_TOPOLOGY\0", True), (b"\0an older ROCr\0", False)])
def test_rocm_needs_the_model_interface(tmp_path: Path, content: bytes, usable: bool) -> None:
    for name, data in (("bin/hipcc", b"#!/bin/sh\n"), ("lib/libhsa-runtime64.so.1", content)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(data)
        (tmp_path / name).chmod(0o755)
    # Only this ROCm, whatever the system has.
    call = """ldconfig() { :; }; rocm_folders() { printf '%s\\n' "$ROCM_PATH"; }; machine_has_rocm && echo yes || echo no"""
    assert machine(call, ROCM_PATH=str(tmp_path)) == ["yes" if usable else "no"]


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
24 22 0:22 / /dev/shm rw - tmpfs tmpfs rw
25 22 0:23 / /run/user/1000 rw - tmpfs tmpfs rw
26 22 0:24 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw
27 22 0:25 / /mnt/secret ro,nosuid - tmpfs tmpfs ro
28 22 8:1 / /boot/efi rw - vfat /dev/sda1 rw
30 22 8:2 / /scratch rw shared:1 master:2 - lustre a:/b rw
31 30 8:3 / /scratch/fast rw - xfs /dev/sdb rw
32 22 8:4 / /home rw - nfs4 server:/home rw
33 22 8:5 / /media/a\\040disk rw - fuse.ntfs-3g /dev/sdc rw
34 22 8:6 / /scratch2 ro - ext4 /dev/sdd ro
35 22 8:7 / /var/data rw - btrfs /dev/sde rw
"""


def test_the_folders_that_are_mounted_for_data(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    found = machine(f"data_mounts {tmp_path}/mountinfo")
    assert found == ["/home", "/media/a disk", "/scratch", "/scratch2", "/var/data"]
