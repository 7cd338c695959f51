"""driver.py SOURCE KIND USER: runs the requested commands in cages of one kind, as one user; one JSON object per line.

It is a separate process so that it can run as another user and be killed. USER: its id, or "own". KIND: also "trusted". A
request is {command, folder, view, limits, environment}; the answer is the result of cage.run(). It stays dumpable, as any judge
does.
"""

import base64
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from rocm_perf_lab import cage  # noqa: E402
from rocm_perf_lab.cage import mechanism  # noqa: E402


def answer(request: dict, trusted: bool) -> dict:
    paths = {name: tuple(map(Path, paths)) for name, paths in request["view"].items() if name in ("readable", "writable")}
    replaced = tuple((Path(place), Path(shown)) for place, shown in request["view"].get("replaced", ()))
    keep = tuple(request["view"].get("keep_env", ()))
    traces = request["view"].get("traces")
    view = cage.View(**paths, replaced=replaced, keep_env=keep, traces=traces and Path(traces), trusted=trusted)
    limits = cage.CageLimits(**request["limits"])
    if request.get("only_words"):
        return {"words": cage.within(request["command"], Path(request["folder"]), view, limits)}
    ended = cage.run(request["command"], Path(request["folder"]), view, os.environ | request["environment"], limits)
    texts = {name: base64.b64encode(getattr(ended, name)).decode() for name in ("stdout", "stderr")}
    return vars(ended) | texts


def main() -> None:
    kind, user = sys.argv[2:4]
    if user != "own":
        os.setgroups([])
        os.setresgid(int(user), int(user), int(user))
        os.setresuid(int(user), int(user), int(user))
    found = next((one for one in mechanism.mechanisms_of_kind(kind) if mechanism.mechanism_works(one)), None)
    mechanism.best_mechanism = lambda: found
    print(json.dumps({"works": kind == "trusted" or found is not None, "overlays": bool(found and found.overlays)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), kind == "trusted")), flush=True)


if __name__ == "__main__":
    main()
