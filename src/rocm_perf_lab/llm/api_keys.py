"""The keys of hosted models, removed from this process's environment so that no program it starts inherits them."""

from __future__ import annotations

from collections.abc import MutableMapping

from rocm_perf_lab.llm.providers import PROVIDERS

VARIABLES = {name: provider.key_variable for name, provider in PROVIDERS.items() if provider.key_variable is not None}
"""Provider -> the variable that holds its key."""


class ApiKey:
    """A secret that does not appear in logs or tracebacks. value: the secret itself."""

    def __init__(self, value: str):
        self.value = value

    def __repr__(self) -> str:
        return "Key(***)"


def take_keys(environment: MutableMapping[str, str]) -> dict[str, ApiKey]:
    """Remove the keys from the environment and return those that were set, as provider -> key."""
    values = {provider: environment.pop(variable, "").strip() for provider, variable in VARIABLES.items()}
    return {provider: ApiKey(value) for provider, value in values.items() if value}
