"""Who can be asked for a kernel. A provider is one file: it turns messages into one answer, or says why not."""

from __future__ import annotations

from rocm_perf_lab.llm.providers.protocol import Answer, Message, Progress, Provider

__all__ = ["Answer", "Message", "Progress", "Provider"]
