"""Values that JSON can hold: it has neither infinities nor NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def non_finite_to_none(value: Any) -> Any:
    """The value with None instead of each non-finite number, also within mappings, lists and tuples."""
    if isinstance(value, Mapping):
        return {key: non_finite_to_none(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [non_finite_to_none(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
