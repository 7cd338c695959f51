"""See the package.

python -m rocm_perf_triton.served [--changed FILE TEXT] KERNEL SCRIPT [ARGUMENTS]...
"""

from __future__ import annotations

import os
import sys
import traceback

from rocm_perf_triton.run_with_changed_file import OPTION, ChangedFile, run_script
from rocm_perf_triton.served.channel import Channel
from rocm_perf_triton.served.interception import Interception
from rocm_perf_triton.served.server import Server

KEY_VARIABLE = "ROCM_PERF_TRITON_KEY"


def main() -> None:
    words, changed = sys.argv[1:], None
    if words[0] == OPTION:
        changed, words = ChangedFile.of(*words[1:3]), words[3:]
    kernel, script, *arguments = words
    channel = Channel()
    key = os.environ.get(KEY_VARIABLE)
    import triton.testing  # noqa: F401 - makes the driver for the software device change Triton first

    Interception(kernel, Server(channel, key.split(",") if key else None).served).install()
    channel.send(event="end", status=_run(script, arguments, changed))


def _run(script: str, arguments: list[str], changed: ChangedFile | None) -> int:
    """Run the script, and return the exit status that Python itself would have returned."""
    try:
        run_script(script, arguments, changed)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
