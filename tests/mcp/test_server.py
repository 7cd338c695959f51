"""The MCP server as a client sees it: the SDK's own client, over standard input and output, on the software device."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import needs

anyio, _ = needs.module("anyio"), needs.module("mcp")

from mcp import Client, StdioServerParameters, stdio_client  # noqa: E402
from published_schemas import expect_published  # noqa: E402
from rocm_perf_lab.mcp.outline import ROOM, value_at  # noqa: E402

PROGRAM = Path(__file__).parents[1] / "optimize" / "program.hip"
BUILD = "hipcc -O2 -nogpuinc SOURCE -o BINARY"
DEVICE = {"device": "gfx942"}
CALLS = {
    "doctor": {},
    "profile": {"program": ["./program", "--runs"], "runs": 1, "deep_analysis": False, "output": "run", **DEVICE},
    "analyze": {"traces": ["run"], "kernel": "sum_rows", "output": "again"},
    "compare": {"base": "run", "new": ["again"], "fail_on": ["time>2%"]},
    "explain": {"what": "run"},
    "source": {"run": "run", "kernel": "sum_rows"},
    "prompt": {"program": ["program.hip", "./program"], "profile": "run", "build": BUILD, "compact": True},
    "gate": {"baseline": "program.hip", "candidate": "changed.hip", "program": ["./program"], "build": BUILD,
             "equivalence": "sampled", **DEVICE},
    "isolate": {"kernel": "walk", "program": ["./program"], **DEVICE},
    "replay": {"iterations": 1, "compare": True, **DEVICE},
    "autotune": {"space": "space.json", "cmd_template": "./program {N}", "runs": 1, "no_cache": True, **DEVICE},
    "optimize": {"program": ["program.hip", "./program"], "build": BUILD, "dry_run": True, "kernel": "walk", **DEVICE},
}  # fmt: skip
READS = {
    "part": {"document": "2", "pointer": "/analysis/kernels/0/bottleneck/name"},
    "long": {"document": "2"},
    "no such document": {"document": "99"},
    "no such part": {"document": "2", "pointer": "/analysis/kernel"},
    "not writable": {"document": "2", "save_as": "no/folder/x.json"},
    "not asked as it should be": {"pointer": "/dag"},
}
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
    """Every call in CALLS and WRONG in one session: {name: result}; the tools; the reported progress of the profile."""
    found, told = {}, []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        told.append(message)

    async def session() -> None:
        async with client(folder) as one:
            found["tools"] = {tool.name: tool for tool in (await one.list_tools()).tools}
            for name, arguments in CALLS.items():
                found[name] = await one.call_tool(name, arguments, progress_callback=progress if name == "profile" else None)
                if not found[name].is_error:
                    number = found[name].structured_content["document"]
                    found[f"{name} read"] = await one.call_tool("read", {"document": number, "save_as": f"{name}.json"})
            for name, arguments in READS.items():
                found[name] = await one.call_tool("read", arguments)
            for name, (tool, arguments, *_) in WRONG.items():
                found[name] = await one.call_tool(tool, arguments)

    anyio.run(session)
    return found | {"told": told}


def whole(folder: Path, name: str) -> dict:
    """The document whose beginning is the result."""
    return json.loads((folder / f"{name}.json").read_text())


def test_every_tool_is_listed_and_called(answers):
    assert set(answers["tools"]) == {*CALLS, "read"}
    for name, tool in answers["tools"].items():
        assert set(CALLS.get(name, READS["part"])) <= set(tool.input_schema["properties"]), name
        assert tool.description and tool.title and tool.output_schema


@pytest.mark.parametrize("name", CALLS)
def test_a_tool_answers_with_its_command_s_document(answers, folder, name):
    result, read = answers[name], answers[f"{name} read"]
    assert not result.is_error, result.content[0].text
    assert json.loads(result.content[0].text) == result.structured_content
    jsonschema.validate(result.structured_content, answers["tools"][name].output_schema)
    assert len(result.content[0].text) <= ROOM + 100 and read.structured_content["result"]["bytes"] > 0
    expect_published(answers["tools"][name].title.removeprefix("rocm-perf "), whole(folder, name))
    assert result.meta["rocm-perf/exit_code"] == (45 if name == "gate" else 0)  # a verdict is not an error


def test_the_documents_belong_together(answers, folder):
    found = {name: whole(folder, name) for name in CALLS}
    assert found["profile"]["analysis"] == json.loads((folder / "run" / "analysis.json").read_text())
    assert found["profile"]["profile"]["run"]["command"].endswith("program --runs")  # of the program, not of this project
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


def test_results_contain_what_matters_and_say_where_the_rest_is(answers, folder):
    results = {name: answers[name].structured_content["result"] for name in CALLS}
    profile, document = results["profile"], whole(folder, "profile")
    assert profile["dominant_symbol"] == document["dag"]["dominant_symbol"] == profile["kernels"][0]["kernel"]
    first = value_at(document, profile["kernels"][0]["read"])
    assert (first["kernel"], first["bottleneck"]["name"]) == (
        profile["kernels"][0]["kernel"],
        profile["kernels"][0]["bottleneck"],
    )
    assert results["prompt"]["text"] == whole(folder, "prompt")["text"]  # all of it
    rejected = results["gate"]["steps"][-1]
    assert rejected["step"] == "equivalence" and rejected["outcome"] == "rejected" and "difference" in rejected["evidence"]
    (shown,) = results["source"]["kernels"]
    assert value_at(whole(folder, "source"), shown["read"])["kernel"] == shown["kernel"]
    assert results["explain"]["cause"] == value_at(whole(folder, "explain"), results["explain"]["read"])["cause"]
    assert results["compare"]["comparisons"][0]["limits"][0]["limit"] == "time>2%"


def test_parts_of_documents_are_read(answers, folder):
    assert answers["part"].structured_content["result"] == value_at(whole(folder, "profile"), READS["part"]["pointer"])
    assert "left_out" in answers["long"].content[0].text and len(answers["long"].content[0].text) <= ROOM + 100
    for name, told in {
        "no such document": "there is no document 99; there are 1, 2", "no such part": "/analysis has no 'kernel'; it has",
        "not writable": "no/folder/x.json cannot be written", "not asked as it should be": "'document' is a required property",
    }.items():  # fmt: skip
        assert answers[name].is_error and told in answers[name].structured_content["error"], name


def test_a_session_that_finds_and_judges_a_kernel_fits_an_agent_s_context(answers):
    """Three characters of JSON are about one token: the tools, a profile, a prompt, a verdict, and two requests for details."""
    tools = sum(len(tool.model_dump_json(exclude_none=True)) for tool in answers["tools"].values())
    results = sum(len(answers[name].content[0].text) for name in ("profile", "prompt", "gate", "part", "long"))
    assert (tools + results) / 3 < 25_000


def test_the_json_is_that_of_the_command_line(answers, folder, rocm_perf_in):
    options = ["--json", "--profile", "run", "--build", BUILD, "--compact"]
    printed = rocm_perf_in(folder, "prompt", *options, "program.hip", "./program").stdout
    assert whole(folder, "prompt") == json.loads(printed)


def test_progress_is_reported(answers):
    assert any(line.startswith("run 1 of 1") for line in answers["told"]) and "analysing" in answers["told"]


@pytest.mark.parametrize("name", WRONG)
def test_errors_have_a_code_and_name_the_cause(answers, folder, name):
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
    """Without the SDK's client, which would end the session properly."""
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
