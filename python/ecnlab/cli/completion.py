"""`ecnlab completion`: a script that lets a shell complete commands, options and names."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the shell completion script.

    It completes commands, options, and the names of algorithms, studies and figures. For bash, put into ~/.bashrc:

    eval "$(ecnlab completion bash)"
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, shell
    print(made(context.find_root().command, {}, "ecnlab", "_ECNLAB_COMPLETE").source())
