"""The command `ecnlab`. Modules are imported when a sub-command runs, so the command starts quickly and handles Ctrl-C from its start."""

from __future__ import annotations

import errno
import gc
import os
import sys

EXIT_DISAGREES = EXIT_FAILED = 1
EXIT_REFUSED, EXIT_INTERRUPTED, EXIT_SIGPIPE = 2, 130, 141

EXIT_CODES = {
    0: "success",
    EXIT_DISAGREES: ("a comparison disagrees, a replayed queue decides differently, an AQM breaks a rule, or runs of a sweep failed"),
    EXIT_REFUSED: "an option, a scenario or a folder is invalid, the output cannot be written, or the engine or a user-defined AQM failed",
    EXIT_INTERRUPTED: "Ctrl-C; finished runs are stored",
    EXIT_SIGPIPE: "SIGPIPE: the reader of the output has ended, as `head` does",
}

# New objects after which the garbage collector runs. With Python's own 700, imports alone start it a hundred times.
_GC_THRESHOLD = 50_000

# Errors of a closed or full output.
_OUTPUT_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
_REMEDY_BY_ERRNO = {
    errno.ENOENT: "fix: change to a directory that exists",
    errno.EMFILE: "fix: raise the limit of open files (ulimit -n)",
    errno.ENOMEM: "fix: raise the limit of memory (ulimit -v)",
    errno.EAGAIN: "fix: raise the limit of processes (ulimit -u)",
}


def main() -> None:
    """Run the command and leave with its exit code; an error that ecnlab raises becomes its text on standard error."""
    gc.set_threshold(_GC_THRESHOLD)
    try:
        _prepare_standard_streams()
        code = _run_and_return_exit_code()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _print_interrupted_and_close_stdout()
    except BrokenPipeError:
        code = _print_error_and_close_stdout("", EXIT_SIGPIPE)
    except OSError as error:
        code = _print_error_and_close_stdout(_os_error_message(error), EXIT_REFUSED)
    gc.freeze()  # the interpreter looks for garbage once more before it ends
    sys.exit(code)


def _os_error_message(error: OSError) -> str:
    """Message for an operating-system error that no other handler reports."""
    if error.filename or error.errno in _OUTPUT_ERRNOS:
        return f"cannot write to {error.filename or 'standard output'}: {error.strerror or error}"
    cause = f"a system call failed: {error.strerror or error}"
    return f"{cause}; {_REMEDY_BY_ERRNO[error.errno]}" if error.errno in _REMEDY_BY_ERRNO else cause


def _prepare_standard_streams() -> None:
    """Replaces a closed standard stream by the null device, and escapes characters that its encoding lacks."""
    from io import TextIOWrapper

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
        elif isinstance(stream, TextIOWrapper):
            # On Windows a pipe or a file would get the encoding of the user's language.
            stream.reconfigure(encoding="utf-8" if sys.platform == "win32" else None, errors="backslashreplace")


def version_text() -> str:
    """The version and the engine's build, as `ecnlab --version` prints them."""
    from ecnlab import _core

    return f"ecnlab {_core.VERSION} (build {_core.BUILD})"


def _run_and_return_exit_code() -> int:
    if sys.argv[1:] == ["--version"]:  # the import of click takes 80 % of the time
        print(version_text())
        return 0
    from io import StringIO

    import click

    from ecnlab.errors import AqmError, EcnlabError, Interrupted

    try:
        _invoke_root_command()
        return 0
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as error:
        message = StringIO()
        error.show(message)
        return _print_error_and_close_stdout(message.getvalue().rstrip(), error.exit_code)
    except Interrupted as error:
        return _print_error_and_close_stdout(str(error), EXIT_INTERRUPTED)
    except AqmError as error:
        return _print_error_and_close_stdout(f"{error.traceback}\n{error}", EXIT_REFUSED)
    except EcnlabError as error:
        return _print_error_and_close_stdout(str(error), EXIT_REFUSED)


def _invoke_root_command() -> None:
    from ecnlab.cli.root import root

    if "_ECNLAB_COMPLETE" in os.environ:
        root.main(prog_name="ecnlab")  # a shell asks for completions
    with root.make_context("ecnlab", sys.argv[1:]) as context:
        root.invoke(context)


def _print_interrupted_and_close_stdout() -> int:
    """Prints that the command was interrupted, as the next function, but without imports: another Ctrl-C would show their traceback."""
    try:
        if sys.stderr is not None:
            print("interrupted", file=sys.stderr)
    except OSError:
        pass
    return _print_error_and_close_stdout("", EXIT_INTERRUPTED)


def _print_error_and_close_stdout(message: str, code: int) -> int:
    """Prints the reason for the end of the command, closes an unwritable standard output, and returns the exit code."""
    if message:
        from contextlib import suppress

        from ecnlab.cli import output

        with suppress(OSError):
            output.print_to_stderr(message)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
