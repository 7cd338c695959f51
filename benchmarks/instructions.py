"""Which instructions in compiled gfx942 code the software device executes, and which it refuses.

    python benchmarks/instructions.py [--all] [--jobs N] [--release NAME] [WHAT...]

WHAT names folders, files (programs, libraries, code objects, .deb files) or Debian packages, which are fetched with `apt-get
download` as this machine is configured and unpacked into a temporary folder. Without WHAT, the testbed's programs are read.
--all lists every instruction with its count instead of only those that are refused. --release: the Debian release of the named
packages, such as experimental. The exit code is 1 if anything is refused.

The device's own decoder reads every code section from beginning to end, each distinct encoding once. It refuses here whatever
the device would refuse when a kernel executes it.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import io
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from elftools.elf.elffile import ELFFile

from rocm_perf_lab import native
from rocm_perf_lab.code_object import code_objects_in
from rocm_perf_lab.errors import SourceError

# The targets whose code a gfx942 loads (its own and its family's), by the low byte of e_flags, which is the processor (LLVM's
# AMDGPUUsage).
MACHINES = {0x4C: "gfx942", 0x5F: "gfx9-4-generic"}
BEGINNINGS = (b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")


@dataclass
class Findings:
    """The instructions found in a file or package. By (mnemonic, reason), `refuses` counts the refused instructions,
    `in_objects` the code sections with such instructions, and `examples` shows one of them.
    """

    objects: int = 0
    instructions: int = 0
    executes: Counter[str] = field(default_factory=Counter)
    refuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    in_objects: Counter[tuple[str, str]] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)

    def add(self, other_findings: Findings) -> None:
        self.objects += other_findings.objects
        self.instructions += other_findings.instructions
        for name in ("executes", "refuses", "in_objects"):
            getattr(self, name).update(getattr(other_findings, name))
        self.examples = other_findings.examples | self.examples
        self.unreadable += other_findings.unreadable


class Probe:
    """The device's decoder as a process that reads code sections and returns counts."""

    def __init__(self) -> None:
        program = native.device_library().parents[1] / "bin" / "rpd_isa_probe"
        self._process = subprocess.Popen([program, "survey"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def survey(self, code: bytes, findings: Findings) -> None:
        self._process.stdin.write(struct.pack("<I", len(code)) + code)
        self._process.stdin.flush()
        for line in iter(self._process.stdout.readline, b"end\n"):
            if not line:
                raise RuntimeError("the decoder ended")
            _add_finding(line.decode().rstrip("\n"), findings)


def _add_finding(line: str, findings: Findings) -> None:
    kind, count, details = line.split(" ", 2)
    if kind == "section":
        findings.instructions += int(count)
    elif kind == "ok":
        findings.executes[details] += int(count)
    else:
        mnemonic, reason, example = details.split("\t")
        findings.refuses[mnemonic, reason] += int(count)
        findings.in_objects[mnemonic, reason] += 1
        findings.examples.setdefault((mnemonic, reason), example)


@functools.cache
def probe() -> Probe:
    return Probe()


def survey_file(path: Path) -> Findings:
    findings = Findings()
    try:
        for image in _images(path):
            findings.objects += 1
            for code in _code_sections(image):
                probe().survey(code, findings)
    except SourceError as error:
        findings.unreadable.append(str(error))
    return findings


def _images(path: Path) -> Iterator[bytes]:
    for _, image in code_objects_in(path):
        if image.startswith(b"\x7fELF") and image[48] in MACHINES:
            yield image


def _code_sections(image: bytes) -> Iterator[bytes]:
    executable = 4  # SHF_EXECINSTR
    for section in ELFFile(io.BytesIO(image)).iter_sections():
        if section["sh_flags"] & executable and section["sh_type"] == "SHT_PROGBITS":
            yield section.data()


# ---- from the user's arguments to files ----


def files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*") if folder.is_dir() else [folder]):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(24).startswith(BEGINNINGS):
                    yield path


def unpacked(subject: str, release: str | None, folder: Path) -> Path:
    """The folder or file that `subject` names; packages are unpacked below `folder`."""
    path = Path(subject)
    if path.exists() and path.suffix != ".deb":
        return path
    if not path.exists():
        command = ["apt-get", "download", "--quiet", f"{subject}/{release}" if release else subject]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        path = next(folder.glob("*.deb"))
    contents = folder / "contents"
    subprocess.run(["dpkg", "-x", path, contents], check=True)
    return contents


def survey(subject: str, release: str | None, pool: concurrent.futures.Executor) -> Findings:
    total = Findings()
    with tempfile.TemporaryDirectory(prefix="instructions-") as folder:
        # The largest files come first, so that no process is left working alone on one at the end.
        files = sorted(files_below(unpacked(subject, release, Path(folder))), key=lambda path: -path.stat().st_size)
        for findings in pool.map(survey_file, files):
            total.add(findings)
    return total


# ---- the table ----


def print_row(title: str, findings: Findings, seconds: float) -> None:
    refused, mnemonics = sum(findings.refuses.values()), len(findings.executes.keys() | {m for m, _ in findings.refuses})
    print(
        f"{title:34} {findings.objects:>7,} {findings.instructions:>13,} {mnemonics:>9,} {refused:>9,} {seconds:>8.0f}",
        flush=True,
    )
    for why in findings.unreadable:
        print(f"    not read: {why}")


def print_refusals(total: Findings) -> None:
    print("\nRefused:" if total.refuses else "\nNothing is refused.")
    for (mnemonic, reason), count in total.refuses.most_common():
        objects = total.in_objects[mnemonic, reason]
        print(f"    {mnemonic}: {count:,} in {objects:,} code sections: {reason}; {total.examples[mnemonic, reason]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--release")
    parser.add_argument("what", nargs="*", default=[str(native.device_library().parents[1] / "testbed")])
    arguments = parser.parse_args()
    print(f"{'':34} {'objects':>7} {'instructions':>13} {'mnemonics':>9} {'refused':>9} {'seconds':>8}")
    total = Findings()
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for subject in arguments.what:
            begin = time.monotonic()
            findings = survey(subject, arguments.release, pool)
            print_row(Path(subject).name, findings, time.monotonic() - begin)
            total.add(findings)
    if len(arguments.what) > 1:
        print_row("all", total, 0)
    if arguments.all:
        print("\nExecuted:", *(f"    {name:36} {count:>13,}" for name, count in sorted(total.executes.items())), sep="\n")
    print_refusals(total)
    return 1 if total.refuses else 0


if __name__ == "__main__":
    sys.exit(main())
