"""A server on this machine that speaks both protocols and follows a script; SDKs and HTTP are the real ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[["Handler"], None]
"""Answers one request; acts are taken in order, the last one again and again."""

TOKENS = (1000, 200)  # the number that each answer reports


class Server:
    """requests: the bodies so far. headers: those of the requests. sent: bytes of the last answer that were sent."""

    def __init__(self, acts: Sequence[Act]):
        self.acts, self.requests, self.headers, self.sent = list(acts), [], [], 0
        self.over = threading.Event()  # lets slow acts end with the test
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"script": self}))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Server:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()


class Handler(BaseHTTPRequestHandler):
    script: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        place = len(self.script.requests)
        self.script.requests.append(body)
        self.script.headers.append({name.lower(): value for name, value in self.headers.items()})
        try:
            self.script.acts[min(place, len(self.script.acts) - 1)](self)
        except OSError:
            self.close_connection = True  # the client has hung up

    def log_message(self, *_: Any) -> None:
        pass

    # ---- answering ----

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.script.sent = 0

    def raw(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.script.sent += len(data)

    def event(self, value: dict[str, Any]) -> None:
        name = f"event: {value['type']}\n" if "type" in value else ""
        self.raw(f"{name}data: {json.dumps(value)}\n\n".encode())

    @property
    def anthropic(self) -> bool:
        return self.path.endswith("/messages")

    def start(self) -> None:
        self.begin()
        if self.anthropic:
            usage = {"input_tokens": TOKENS[0], "output_tokens": 1}
            message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "served", "usage": usage}
            self.event({"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}})
            self.event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})

    def part(self, text: str) -> None:
        if self.anthropic:
            self.event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        else:
            self.event(self._chunk({"delta": {"content": text}, "finish_reason": None}))

    def end(self, reason: str) -> None:
        if self.anthropic:
            self.event({"type": "content_block_stop", "index": 0})
            stop = {"stop_reason": {"stop": "end_turn", "length": "max_tokens"}[reason], "stop_sequence": None}
            self.event({"type": "message_delta", "delta": stop, "usage": {"output_tokens": TOKENS[1]}})
            self.event({"type": "message_stop"})
        else:
            self.event(self._chunk({"delta": {}, "finish_reason": reason}))
            usage = dict(zip(("prompt_tokens", "completion_tokens"), TOKENS, strict=True)) | {"total_tokens": sum(TOKENS)}
            self.event(self._chunk(None) | {"usage": usage})
            self.raw(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def _chunk(choice: dict[str, Any] | None) -> dict[str, Any]:
        choices = [{"index": 0} | choice] if choice else []
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "served", "choices": choices}


def says(text: str, reason: str = "stop") -> Act:
    def act(handler: Handler) -> None:
        handler.start()
        for place in range(0, len(text), 500):
            handler.part(text[place : place + 500])
        handler.end(reason)

    return act


def says_little(text: str) -> Act:
    """The least that a compatible server sends."""

    def act(handler: Handler) -> None:
        handler.begin()
        handler.event({"choices": [{"delta": {"content": text}}]})
        handler.event({"choices": [{"finish_reason": "stop"}]})
        handler.wfile.write(b"0\r\n\r\n")

    return act


def refuses_temperature(then: Act) -> Act:
    def act(handler: Handler) -> None:
        answer = replies(400, message="temperature is not supported") if "temperature" in handler.script.requests[-1] else then
        answer(handler)

    return act


def replies(status: int, headers: dict[str, str] | None = None, message: str = "not now") -> Act:
    def act(handler: Handler) -> None:
        body = json.dumps({"type": "error", "error": {"type": "an_error", "message": message}}).encode()
        handler.send_response(status)
        for name, value in ({"Content-Type": "application/json", "Content-Length": str(len(body))} | (headers or {})).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return act


def drops(text: str) -> Act:
    """The connection breaks in the middle of an answer."""

    def act(handler: Handler) -> None:
        handler.start()
        handler.part(text)
        handler.close_connection = True
        handler.connection.shutdown(2)

    return act


def stalls(handler: Handler) -> None:
    """Nothing is sent after the beginning."""
    handler.start()
    handler.part("let me think")
    handler.script.over.wait(60)


def drips(handler: Handler) -> None:
    """Something is sent all the time, and the answer never ends."""
    handler.start()
    while not handler.script.over.wait(0.05):
        handler.raw(b": still here\n\n")


def floods(total: int, with_lines: bool = True) -> Act:
    """An answer of this many bytes; without line breaks, no parser can pass it on in parts."""

    def act(handler: Handler) -> None:
        handler.start()
        piece = "x" * 65536
        if not with_lines:
            handler.raw(b'data: {"choices": "')
        while handler.script.sent < total:
            handler.part(piece) if with_lines else handler.raw(piece.encode())
        handler.end("stop")

    return act
