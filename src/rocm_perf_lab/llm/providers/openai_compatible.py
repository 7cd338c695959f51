"""Any endpoint with OpenAI's chat completions API, hosted or self-hosted (vLLM, Ollama, llama.cpp), through OpenAI's SDK."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rocm_perf_lab.llm.providers import http
from rocm_perf_lab.llm.providers.protocol import Answer, AnswerCollector, Message, TransientError


class OpenAICompatible(http.HttpModel):
    def _ask_model(self, messages: Sequence[Message], text: AnswerCollector, body: dict[str, float]) -> Answer:
        import openai

        # Self-hosted servers may not know the newer name that the hosted service uses.
        limit = "max_completion_tokens" if self.is_hosted else "max_tokens"
        with http.conversation(openai, self.endpoint, self.timeout) as client:
            api = openai.OpenAI(
                api_key=self.api_key, base_url=self.endpoint, http_client=client, max_retries=0, timeout=self.timeout
            )
            create: Any = api.chat.completions.create  # its types differ between versions of the SDK
            stream = create(
                model=self.model,
                messages=[{"role": message.role, "content": message.text} for message in messages],
                stream=True,
                extra_body=body,
                stream_options={"include_usage": True},
                extra_headers={"Accept-Encoding": "identity"},
                **{limit: self.max_tokens},
            )
            return self._collect(stream, text)

    def _collect(self, stream: Iterable[Any], text: AnswerCollector) -> Answer:
        finished, usage, model = None, None, self.model
        for chunk in stream:
            # Compatible servers may omit fields.
            model, usage = getattr(chunk, "model", None) or model, getattr(chunk, "usage", None) or usage
            for choice in (getattr(chunk, "choices", None) or [])[:1]:
                text.add(getattr(getattr(choice, "delta", None), "content", None) or "")
                finished = getattr(choice, "finish_reason", None) or finished
        if finished is None:
            raise TransientError("the answer ended too early")
        return Answer(
            text.text,
            model,
            getattr(usage, "prompt_tokens", None),
            getattr(usage, "completion_tokens", None),
            getattr(usage, "cost", None),  # sent by OpenRouter and some others
            finished != "length",
        )
