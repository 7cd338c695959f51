"""The providers that can be asked for a kernel. A provider is one file: it turns messages into one answer, or reports why it
cannot.

To add one, add a file here and an entry below. A provider's module is imported only once that provider has been chosen.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.llm.providers.protocol import Answer, Message, ModelOptions, Progress, Provider

if TYPE_CHECKING:
    from rocm_perf_lab.llm.api_keys import ApiKey

__all__ = ["PROVIDERS", "Answer", "Message", "ModelOptions", "Progress", "Provider", "RegisteredProvider", "provider_of"]


@dataclass(frozen=True)
class RegisteredProvider:
    """Where a provider is implemented, and what it needs.

    module: the module's name in this package. name: the name of its class. help: what it connects to. hosted: address of the
    hosted service; key_variable: the environment variable that holds its key; None if there is none.
    """

    module: str
    name: str
    help: str
    hosted: str | None = None
    key_variable: str | None = None


PROVIDERS = {
    "openai": RegisteredProvider(
        "openai_compatible",
        "OpenAICompatible",
        "any server with OpenAI's chat completions API",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
    ),
    "anthropic": RegisteredProvider(
        "anthropic", "Anthropic", "Anthropic's messages API", "https://api.anthropic.com", "ANTHROPIC_API_KEY"
    ),
    "command": RegisteredProvider(
        "command", "CommandProvider", "a program that reads the question on its standard input and prints the answer"
    ),
}


def provider_of(model: ModelOptions, keys: Mapping[str, ApiKey]) -> Provider:
    """The provider for a model.

    Raises UsageError for an invalid address, LanguageModelError if the key or the program is missing, and UnavailableError if
    the SDK is missing.
    """
    registered = PROVIDERS[model.provider]
    kind = getattr(importlib.import_module(f"{__name__}.{registered.module}"), registered.name)
    provider: Provider = kind.of(model, registered, keys.get(model.provider))
    return provider
