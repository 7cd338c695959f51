"""The MCP server as a client sees it: the SDK's own client, over standard input and output, on the software device."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import needs

anyio, _ = needs.module("anyio"), needs.module("mcp")

from mcp import Client, StdioServerParameters, stdio_client  # noqa: E402
from published_schemas import expect_published  # noqa: E402

PROGRAM = Path(__file__).parents[1] / "optimize" / "program.hip"
BUILD = "hipcc -O2 -nogpuinc SOURCE -o BINARY"
DEVICE = {"device": "gfx942"}
CALLS = {
    "doctor": {},
    "profile": {"program": ["./program", "--runs"], "runs": 1, "deep_analysis": False, "output": "run", **DEVICE},
    "analyze": {"traces": ["run"], "kernel": "sum_rows", "output": "again"},
    "compare": {"base": "run", "new": ["again"], "fail_on": ["time>2%"]},
    "prompt": {"program": ["program.hip", "./program"], "profile": "run", "build": BUILD, "compact": True},
    "gate": {"baseline": "program.hip", "candidate": "changed.hip", "program": ["./program"], "build": BUILD,
             "equivalence": "sampled", **DEVICE},
    "isolate": {"kernel": "walk", "program": ["./program"], **DEVICE},
    "replay": {"iterations": 1, "compare": True, **DEVICE},
    "autotune": {"space": "space.json", "cmd_template": "./program {N}", "runs": 1, "no_cache": True, **DEVICE},
    "optimize": {"program": ["program.hip", "./program"], "build": BUILD, "dry_run": True, "kernel": "walk", **DEVICE},
}  # fmt: skip
WRONG = {
    "no such tool": ("shell", {}, 2, "there are profile"),
    "an option that is not there": ("profile", {"program": ["./program"], "json": True}, 2, "'json'"),
    "a wrong type": ("profile", {"program": "./program; rm -rf /"}, 2, "program: "),
    "a NUL": ("profile", {"program": ["a\0b"]}, 2, "program.0"),
    "out of range": ("isolate", {"program": ["x"], "kernel": "x", "dispatch": -1}, 2, "dispatch: "),
    "nothing required": ("isolate", {"program": ["x"]}, 2, "kernel"),
    "no such folder": ("doctor", {"folder": "nowhere"}, 66, "nowhere"),
    "no such program": ("profile", {"program": ["./nothing", "$(touch shell)"], **DEVICE}, 66, "./nothing"),
    "an option as a value": ("analyze", {"traces": ["--help"]}, 66, "--help"),
    "a time limit": ("profile", {"program": ["sleep", "600"], "time_limit": 0.2, **DEVICE}, 33, "time_limit"),
}


def client(folder: Path) -> Client:
    command = [sys.executable, "-m", "rocm_perf_lab", "mcp", "--folder", str(folder)]
    return Client(stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, native_dir, hipcc) -> Path:
    folder = tmp_path_factory.mktemp("mcp")
    text = PROGRAM.read_text().replace("int main() {", "int main(int, char**) {")
    (folder / "program.hip").write_text(text)
    (folder / "changed.hip").write_text(text.replace("sums[row] = sum;", "sums[row] = sum * 1.5f;"))
    (folder / "space.json").write_text('{"parameters": {"N": [1]}}')
    build = BUILD.replace("SOURCE", "program.hip").replace("BINARY", "program")
    subprocess.run([*build.split(), "-g", "--offload-arch=gfx942"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    """Every call of CALLS and WRONG in one session: {name: result}; the tools; what was told of the profile's progress."""
    found, told = {}, []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        told.append(message)

    async def session() -> None:
        async with client(folder) as one:
            found["tools"] = {tool.name: tool for tool in (await one.list_tools()).tools}
            for name, arguments in CALLS.items():
                found[name] = await one.call_tool(name, arguments, progress_callback=progress if name == "profile" else None)
            for name, (tool, arguments, *_) in WRONG.items():
                found[name] = await one.call_tool(tool, arguments)

    anyio.run(session)
    return found | {"told": told}


def test_every_tool_is_listed_and_was_called(answers):
    assert list(answers["tools"]) != [] and set(answers["tools"]) == set(CALLS)
    for name, tool in answers["tools"].items():
        assert set(CALLS[name]) <= set(tool.input_schema["properties"]), name
        assert tool.description and tool.title.startswith("rocm-perf ")


@pytest.mark.parametrize("name", CALLS)
def test_a_tool_answers_with_its_command_s_document(answers, name):
    result = answers[name]
    assert not result.is_error, result.content[0].text
    assert json.loads(result.content[0].text) == result.structured_content
    expect_published(answers["tools"][name].title.removeprefix("rocm-perf "), result.structured_content)
    assert result.meta["rocm-perf/exit_code"] == (45 if name == "gate" else 0)  # a verdict is no error


def test_the_documents_belong_together(answers, folder):
    found = {name: answers[name].structured_content for name in CALLS}
    assert found["profile"]["analysis"] == json.loads((folder / "run" / "analysis.json").read_text())
    assert found["profile"]["profile"]["run"]["command"].endswith("program --runs")  # the program's own, not ours
    (kernel,) = found["analyze"]["analysis"]["kernels"]
    assert (
        kernel["time_ms"]
        == next(k for k in found["profile"]["analysis"]["kernels"] if k["kernel"] == kernel["kernel"])["time_ms"]
    )
    assert found["prompt"]["kernel"]["demangled"] in {k["kernel"] for k in found["profile"]["analysis"]["kernels"]}
    steps = {step["step"]: step["outcome"] for step in found["gate"]["steps"]}
    assert steps["code object"] == "passed" and steps["equivalence"] == "rejected" and not found["gate"]["accepted"]
    assert Path(found["isolate"]["capture"]).parent == folder and found["replay"]["comparison"]["equal"]
    assert found["optimize"]["dry_run"] and not found["optimize"]["written"]


def test_the_json_is_that_of_the_command_line(answers, folder, rocm_perf_in):
    options = ["--json", "--profile", "run", "--build", BUILD, "--compact"]
    printed = rocm_perf_in(folder, "prompt", *options, "program.hip", "./program").stdout
    assert answers["prompt"].structured_content == json.loads(printed)


def test_progress_is_told(answers):
    assert any(line.startswith("run 1 of 1") for line in answers["told"]) and "analysing" in answers["told"]


@pytest.mark.parametrize("name", WRONG)
def test_errors_have_a_code_and_name_the_thing(answers, folder, name):
    _, _, code, told = WRONG[name]
    result = answers[name]
    assert result.is_error and result.structured_content["exit_code"] == code, result.content[0].text
    assert told in result.structured_content["error"] and result.structured_content["meaning"]
    assert not (folder / "shell").exists()


@pytest.fixture
def sleeper(tmp_path) -> dict:
    """Arguments of a profile that does not end; tmp_path/ready has the program's process id once it runs."""
    return {"program": ["sh", "-c", "echo $$ > pid; mv pid ready; exec sleep 600"], "folder": str(tmp_path), **DEVICE}


def test_a_cancelled_call_leaves_no_process_and_the_server_goes_on(folder, tmp_path, sleeper, process_is_gone):
    async def wait_for(done) -> None:
        with anyio.fail_after(120):
            while not done():
                await anyio.sleep(0.05)

    async def session() -> None:
        async with client(folder) as one:
            async with anyio.create_task_group() as group:
                group.start_soon(one.call_tool, "profile", sleeper)
                await wait_for((tmp_path / "ready").exists)
                pid = int((tmp_path / "ready").read_text())
                assert not process_is_gone(pid)
                group.cancel_scope.cancel()
            await wait_for(lambda: process_is_gone(pid))
            assert not (await one.call_tool("doctor", {})).is_error

    anyio.run(session)
    assert [path.name for path in tmp_path.iterdir()] == ["ready"]


@pytest.mark.parametrize("how", ["closed input", "SIGTERM"])
def test_a_server_that_ends_leaves_no_process(tmp_path, sleeper, process_is_gone, native_dir, how):
    """Without the SDK's client, which would say good-bye."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "profile", "arguments": sleeper}},
    ]
    command = [sys.executable, "-m", "rocm_perf_lab", "mcp"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as server:
        server.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
        server.stdin.flush()
        wait_until((tmp_path / "ready").exists)
        pid = int((tmp_path / "ready").read_text())
        if how == "SIGTERM":
            server.send_signal(signal.SIGTERM)
        else:
            server.stdin.close()
        assert server.wait(120) == (143 if how == "SIGTERM" else 0)
        wait_until(lambda: process_is_gone(pid))
    assert [path.name for path in tmp_path.iterdir()] == ["ready"]


def wait_until(done) -> None:
    limit = time.monotonic() + 120
    while not done():
        assert time.monotonic() < limit
        time.sleep(0.05)
