"""The server: lists the tools, validates a call's arguments, runs one command at a time, and returns its JSON, shortened."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import click
import jsonschema
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from rocm_perf_lab import __version__
from rocm_perf_lab.errors import MissingInputError, OutputError, ProgramTimeoutError, UsageError, exit_codes
from rocm_perf_lab.mcp import call_documents, command_process
from rocm_perf_lab.mcp.highlights import highlights
from rocm_perf_lab.mcp.outline import ROOM, ROOM_FOR_TEXT, compact, outline
from rocm_perf_lab.mcp.tools import FOLDER, TIME_LIMIT, McpTool, tools

_INSTRUCTIONS = """Finds which GPU kernel holds a HIP program back and why, and judges changes to it. Call profile first, and
look at dominant_symbol, fraction and the kernel's bottleneck; prompt collects everything that is known about the kernel; change
only its body; gate says whether the change is right and faster. timing "modelled" means that no GPU ran the program: compare
such times only with each other. null means unknown; the reason is next to it. Results are shortened; read returns the rest."""


class ToolServer:
    """Lists and runs the tools. cli: `rocm-perf`. folder: commands' default working folder. cage: see McpTool.argv()."""

    def __init__(self, cli: click.Command, folder: Path, cage: Mapping[str, Any]):
        self._folder, self._cage, self._tools = folder, cage, tools(cli)
        self._turn = anyio.Lock()  # commands that share a GPU would distort each other's times
        self._calls: set[anyio.CancelScope] = set()
        self._documents = call_documents.CallDocuments()

    async def list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[*map(_tool_description, self._tools.values()), _READING])

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool, arguments = self._tools.get(params.name), params.arguments or {}
        if params.name == call_documents.READ:
            return self._read(arguments)
        if tool is None:
            names = ", ".join([*self._tools, call_documents.READ])
            return _failure(UsageError.exit_code, f"there is no tool {params.name}; there are {names}")
        if complaint := _complaint(tool.schema, arguments):
            return _failure(UsageError.exit_code, complaint)
        folder = self._folder / arguments.get(FOLDER, ".")
        if not folder.is_dir():
            return _failure(MissingInputError.exit_code, f"{folder} is not a folder")
        limit = arguments.get(TIME_LIMIT)
        with anyio.CancelScope() as call:
            self._calls.add(call)
            try:
                async with self._turn:
                    with anyio.move_on_after(limit):
                        return self._result(
                            tool, await command_process.run(tool.argv(arguments, self._cage), folder, _progress(context))
                        )
            finally:
                self._calls.discard(call)
        if call.cancelled_caught:
            return _failure(128 + signal.SIGTERM, "the server was stopped")
        return _failure(
            ProgramTimeoutError.exit_code, f"it was still running after {limit:g} s and was stopped; raise {TIME_LIMIT}"
        )

    def _result(self, tool: McpTool, ended: command_process.CommandResult) -> types.CallToolResult:
        """The result of a command: if it printed its JSON, it succeeded, even if its exit code is a negative verdict."""
        if ended.document is None:
            return _failure(ended.exit_code, ended.error)
        result = outline(highlights(tool.name, ended.document), room=ROOM_FOR_TEXT if tool.name == "prompt" else ROOM)
        return _answer({"document": self._documents.keep(ended.document), "result": result}, ended.exit_code, is_error=False)

    def _read(self, arguments: dict[str, Any]) -> types.CallToolResult:
        if complaint := _complaint(call_documents.SCHEMA, arguments):
            return _failure(UsageError.exit_code, complaint)
        try:
            result = self._documents.read(self._folder, **arguments)
        except LookupError as error:
            return _failure(UsageError.exit_code, str(error.args[0]))
        except OSError as error:
            return _failure(OutputError.exit_code, f"{arguments['save_as']} cannot be written ({error.strerror})")
        return _answer({"document": arguments["document"], "result": result}, 0, is_error=False)

    async def stop(self) -> None:
        """End all calls, and return once no command is running."""
        for call in self._calls:
            call.cancel()
        async with self._turn:
            pass


async def serve(cli: click.Command, folder: Path, cage: Mapping[str, Any]) -> None:
    """Serve until standard input ends or a signal arrives."""
    commands = ToolServer(cli, folder, cage)
    server = Server(
        "rocm-perf-lab",
        version=__version__,
        instructions=" ".join(_INSTRUCTIONS.split()),
        on_list_tools=commands.list_tools,
        on_call_tool=commands.call_tool,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(_end_on_signal, commands)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _end_on_signal(commands: ToolServer) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            await commands.stop()
            os._exit(128 + number)  # a thread is reading standard input, and nothing else would end it


def _progress(context: Any) -> command_process.Progress:
    done = itertools.count(1)

    async def progress(text: str) -> None:
        await context.session.report_progress(next(done), None, text)

    return progress


_RESULT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "document": {"type": "string", "description": "Number of the whole document, for the tool read."},
        "result": {"description": "The most important parts of the document."},
    },
    "required": ["document", "result"],
}
_READING = types.Tool(
    name=call_documents.READ,
    title="read an earlier result",
    description=" ".join(call_documents.DESCRIPTION.split()),
    input_schema=call_documents.SCHEMA,
    output_schema=_RESULT_SCHEMA,
    annotations=types.ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
)


def _tool_description(tool: McpTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        output_schema=_RESULT_SCHEMA,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.only_reads,
            destructive_hint=tool.changes_files,
            idempotent_hint=tool.only_reads,
            open_world_hint=tool.runs_programs,
        ),
    )


def _complaint(schema: dict[str, Any], arguments: dict[str, Any]) -> str | None:
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(arguments))
    if error is None:
        return _nul_in(arguments)
    where = ".".join(str(part) for part in error.absolute_path)
    return f"{where}: {error.message}" if where else error.message


def _nul_in(arguments: dict[str, Any]) -> str | None:
    """An error message if an argument contains NUL, which the operating system does not allow in arguments; otherwise None."""
    for name, value in arguments.items():
        for number, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, str) and "\0" in item:
                return f"{name}{f'.{number}' if isinstance(value, list) else ''}: NUL is not allowed"
    return None


def _failure(exit_code: int, message: str) -> types.CallToolResult:
    meaning = dict(exit_codes()).get(exit_code, "the program's own status, or a signal")
    return _answer({"exit_code": exit_code, "meaning": meaning, "error": message}, exit_code, is_error=True)


def _answer(document: Any, exit_code: int, is_error: bool) -> types.CallToolResult:
    text = types.TextContent(type="text", text=compact(document))
    return types.CallToolResult(
        content=[text], structured_content=document, is_error=is_error, _meta={"rocm-perf/exit_code": exit_code}
    )
