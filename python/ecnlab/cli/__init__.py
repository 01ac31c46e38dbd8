"""The command `ecnlab`. Whatever a part of it needs is imported when it runs: it answers at once, and hears Ctrl-C from then on."""

from __future__ import annotations

import errno
import os
import sys

DISAGREES = FAILED = 1
REFUSED, INTERRUPTED, UNREAD = 2, 130, 141

EXIT_CODES = {
    0: "what was asked for is done",
    DISAGREES: "a comparison disagrees, a queue decides otherwise when it is replayed, an AQM breaks a rule, or runs of a sweep failed",
    REFUSED: "an option, a scenario or a folder is refused, the output cannot be written, or the engine or an AQM of yours failed",
    INTERRUPTED: "Ctrl-C; what has finished is kept",
    UNREAD: "who reads the output has stopped reading, as `head` does",
}

# What an output that takes no more says of itself.
_OF_OUTPUT = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
_REMEDIES = {
    errno.ENOENT: "the folder that the command was started in may be gone: change to another one",
    errno.EMFILE: "let the process have more files open (ulimit -n)",
    errno.ENOMEM: "let the process have more memory (ulimit -v)",
    errno.EAGAIN: "let the user have more processes (ulimit -u)",
}


def main() -> None:
    """Run the command and leave with its exit code; an error that ecnlab raises becomes its text on standard error."""
    try:
        _open_streams()
        code = _run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _failed("interrupted", INTERRUPTED)
    except BrokenPipeError:
        code = _failed("", UNREAD)
    except OSError as error:
        code = _failed(_refused_by_system(error), REFUSED)
    sys.exit(code)


def _refused_by_system(error: OSError) -> str:
    """What to say of an error of the system that nothing else has told of."""
    if error.filename or error.errno in _OF_OUTPUT:
        return f"cannot write to {error.filename or 'standard output'}: {error.strerror or error}"
    told = f"the system refuses what the command needs: {error.strerror or error}"
    return f"{told}: {_REMEDIES[error.errno]}" if error.errno in _REMEDIES else told


def _open_streams() -> None:
    """Let a character that an output cannot hold be written as its escape, and a closed output take everything."""
    from io import TextIOWrapper

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _run() -> int:
    from io import StringIO

    import click

    from ecnlab.errors import AqmError, EcnlabError, Interrupted

    try:
        _invoke()
        return 0
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as error:
        told = StringIO()
        error.show(told)
        return _failed(told.getvalue().rstrip(), error.exit_code)
    except Interrupted as error:
        return _failed(str(error), INTERRUPTED)
    except AqmError as error:
        return _failed(f"{error.traceback}\n{error}", REFUSED)
    except EcnlabError as error:
        return _failed(str(error), REFUSED)


def _invoke() -> None:
    from ecnlab.cli.root import root

    if "_ECNLAB_COMPLETE" in os.environ:
        root.main(prog_name="ecnlab")  # a shell asks for completions
    with root.make_context("ecnlab", sys.argv[1:]) as context:
        root.invoke(context)


def _failed(message: str, code: int) -> int:
    """Say why the command ends, and let nothing more be written to a standard output that takes nothing."""
    from contextlib import suppress

    from ecnlab.cli import output

    with suppress(OSError):
        if message:
            output.tell(message)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
