"""See the package."""

from __future__ import annotations

import os
import runpy
import sys
import traceback

from rocm_perf_triton.served.channel import Channel
from rocm_perf_triton.served.interception import Interception
from rocm_perf_triton.served.server import Server

KEY_VARIABLE = "ROCM_PERF_TRITON_KEY"


def main() -> None:
    kernel, script, *arguments = sys.argv[1:]
    channel = Channel()
    key = os.environ.get(KEY_VARIABLE)
    import triton.testing  # noqa: F401 - makes the driver for the software device change Triton first

    Interception(kernel, Server(channel, key.split(",") if key else None).served).install()
    channel.send(event="end", status=_run(script, arguments))


def _run(script: str, arguments: list[str]) -> int:
    """The exit status of the script, as if Python had been given its name."""
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        runpy.run_path(script, run_name="__main__")
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
