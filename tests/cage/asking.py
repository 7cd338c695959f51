"""asking.py FOLDER SECONDS: starts a cage in which a process sleeps, and waits."""

import subprocess
import sys
from pathlib import Path

from rocm_perf_lab import cage

words = cage.within(["sh", "-c", f"(setsid sleep {sys.argv[2]} &); echo started; sleep {sys.argv[2]}"], Path(sys.argv[1]))
subprocess.run(words)
