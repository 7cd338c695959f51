"""`rocm-perf completion`: prints the shell completion that click generates."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(epilog="For bash: rocm-perf completion bash > ~/.local/share/bash-completion/completions/rocm-perf")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    generator = get_completion_class(shell)
    assert generator is not None
    script = generator(ctx.find_root().command, {}, "rocm-perf", "_ROCM_PERF_COMPLETE").source()
    # Without this, bash offers nothing (not even file names) where click has no suggestions.
    click.echo(script.replace("complete -o nosort -F", "complete -o nosort -o default -F"))
