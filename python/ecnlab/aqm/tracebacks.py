"""Exceptions of user AQMs as text and as AqmError."""

from __future__ import annotations

import traceback
from pathlib import Path
from traceback import format_exception_only

from ecnlab import _core
from ecnlab.errors import AqmError

_PACKAGE = str(Path(__file__).parents[1])


def aqm_error_from_exception(raised: _core.AqmFailure) -> AqmError:
    """The failure of a user's AQM as users get it, with what was raised as its cause."""
    cause = raised.__cause__ or raised
    text = "".join(format_exception_only(cause)).strip()
    error = AqmError(**raised.about, raised=text, traceback=format_traceback_of_user_code(cause))
    error.__cause__ = raised.__cause__
    return error


def format_traceback_of_user_code(error: BaseException) -> str:
    """An exception with its traceback, but for the frames of ecnlab itself."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_PACKAGE)]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    return "".join([*lines, *traceback.format_exception_only(error)]).rstrip()
