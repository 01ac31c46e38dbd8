"""Addresses that open a scenario in the page of the laboratory."""

from __future__ import annotations

import base64
import zlib


def scenario_fragment(text: str) -> str:
    """The fragment of the page's address that opens a scenario in TOML or JSON: `page#fragment`."""
    return f"scenario={packed(text)}"


def packed(text: str) -> str:
    """A text as a part of an address: deflated and in base64url, as web/link.js reads it."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = compressor.compress(text.encode()) + compressor.flush()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
