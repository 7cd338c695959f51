"""Anthropic's Messages API, through its SDK."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rocm_perf_lab.llm.providers import http
from rocm_perf_lab.llm.providers.protocol import Answer, AnswerCollector, Message, TransientError


class Anthropic(http.HttpModel):
    def _ask_model(self, messages: Sequence[Message], text: AnswerCollector, body: dict[str, float]) -> Answer:
        import anthropic

        with http.conversation(anthropic, self.endpoint, self.timeout) as client:
            api = anthropic.Anthropic(
                api_key=self.api_key, base_url=self.endpoint, http_client=client, max_retries=0, timeout=self.timeout
            )
            create: Any = api.messages.create  # its types differ between versions of the SDK
            stream = create(
                model=self.model,
                system="\n\n".join(message.text for message in messages if message.role == "system"),
                messages=[{"role": message.role, "content": message.text} for message in messages if message.role != "system"],
                max_tokens=self.max_tokens,
                stream=True,
                extra_body=body,  # the SDK no longer has a temperature parameter
                extra_headers={"Accept-Encoding": "identity"},
            )
            return self._collect(stream, text)

    def _collect(self, stream: Iterable[Any], text: AnswerCollector) -> Answer:
        stopped, model = None, self.model
        input_tokens = output_tokens = None
        for event in stream:
            if event.type == "message_start":
                model, input_tokens = event.message.model or model, event.message.usage.input_tokens
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                text.add(event.delta.text)
            elif event.type == "message_delta":
                stopped, output_tokens = event.delta.stop_reason or stopped, event.usage.output_tokens
        if stopped is None:
            raise TransientError("the answer ended too early")
        return Answer(text.text, model, input_tokens, output_tokens, complete=stopped != "max_tokens")
