"""The page docs/guide/softmax.md: a naive softmax before and after `rocm-perf optimize`, with the diff and both time stacks.

    python benchmarks/softmax_story.py [--write]

Runs the commands that the page shows, and prints the page, or with --write replaces it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "guide" / "softmax.md"
ARGUMENTS = "--kernel naive"
OPTIMIZE = (
    "rocm-perf optimize --device gfx942 --auto-approve --accept modelled --ulps 600 --check 'grep PASS' --kernel softmax_naive "
    f"--max-iters 1 softmax.hip './softmax {ARGUMENTS}'"
)
TEXT = """\
# One kernel, start to end

A softmax that gives each row to one thread, as a first version often does: neighbouring lanes read addresses a whole row apart,
and there are as many threads as rows. All times are modelled by the software device. The page is what the commands print:
`python benchmarks/softmax_story.py --write` made it.

## What it spends its time on

```console
$ hipcc -O3 -g --offload-arch=gfx942 softmax.hip -o softmax
$ rocm-perf profile --device gfx942 -o before ./softmax {arguments}
$ rocm-perf explain before
{before}
```

## What is changed

```console
$ {optimize}
{report}
```

The kernel and its launch change together: each row gets a wave, whose lanes read neighbouring elements, and there are 64 times
as many work-items. The gate compared results for {cases}; each number of rows was replayed with the
launch that the host would make for it. The lanes add in a different order, so results may differ by rounding (`--ulps`). The
directive `#line` keeps the line numbers of what follows the kernel.

```diff
{diff}
```

## What it spends its time on then

```console
$ rocm-perf explain after
{after}
```
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = page(Path(folder))
    if given.write:
        PAGE.write_text(text)
    else:
        print(text, end="")


def page(folder: Path) -> str:
    for name in ("softmax.hip", "check.h"):
        shutil.copy(REPOSITORY / "testbed" / name, folder)
    before = explained(folder, "softmax.hip", "before")
    printed = said(folder, OPTIMIZE)
    run = next((folder / "softmax.rocm-perf-optimize").glob("run-*"))
    journal = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    accepted = next(line for line in journal if line["event"] == "accepted")
    verdict = next(
        line["verdict"] for line in journal if line["event"] == "verdict" and line["candidate"] == accepted["candidate"]
    )
    captures = next(step for step in verdict["steps"] if step["step"] == "equivalence")["evidence"]["captures"]
    cases = sum(len(one["cases"]) for one in captures)
    return TEXT.format(
        arguments=ARGUMENTS,
        before=before,
        optimize=OPTIMIZE,
        report=ending(printed),
        cases=f"{cases} sets of inputs and numbers",
        diff=(folder / "softmax.optimized.patch").read_text().rstrip("\n"),
        after=explained(folder, "softmax.optimized.hip", "after"),
    )


def explained(folder: Path, source: str, name: str) -> str:
    said(folder, f"hipcc -O3 -g --offload-arch=gfx942 {source} -o softmax")
    said(folder, f"rocm-perf profile --device gfx942 -o {name} ./softmax {ARGUMENTS}")
    lines = said(folder, f"rocm-perf explain {name}").splitlines()
    time = next(i for i, line in enumerate(lines) if line.startswith("  Time"))
    end = next(i for i, line in enumerate(lines) if i > time and not line.startswith("   "))
    return "\n".join([*lines[:end], "  ..."])


def ending(printed: str) -> str:
    """From the times on; what stands before is in the diff, and in the run's page."""
    lines = printed.rstrip("\n").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Baseline runtime"))
    return "\n".join(lines[first:])


def said(folder: Path, command: str) -> str:
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


if __name__ == "__main__":
    main()
