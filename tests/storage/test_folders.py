"""JSON files of folders that ecnlab writes."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecnlab.storage.folders import to_json_bytes

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


def dicts_of(members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(PLAIN, members, max_size=4)


VALUES = st.recursive(
    PLAIN, lambda members: st.lists(members, max_size=4) | st.lists(members, max_size=4).map(tuple) | dicts_of(members), max_leaves=20
)


@given(dicts_of(VALUES), st.sampled_from([None, 1, 2]))
def test_a_file_has_the_value_that_the_encoder_writes(value: dict[Any, Any], indent: int | None) -> None:
    written = to_json_bytes(value, indent)
    assert json.loads(written) == json.loads(json.dumps(value))
    assert written.endswith(b"}\n")


@given(dicts_of(VALUES))
def test_a_mapping_that_is_no_dict_is_an_object(value: dict[Any, Any]) -> None:
    assert to_json_bytes(MappingProxyType(value)) == to_json_bytes(value)


def test_objects_of_plain_values_are_one_line_each() -> None:
    value = {"name": "small", "seeds": [1, 2], "parts": [{"a": 1, 2: None}, {}], "empty": {}}
    assert (
        to_json_bytes(value).decode()
        == """\
{
  "name": "small",
  "seeds": [1, 2],
  "parts": [
    {"a": 1, "2": null},
    {}
  ],
  "empty": {}
}
"""
    )


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"a": [float("nan"), {}]}, ValueError),
        ({"a": {float("inf"): {}}}, ValueError),
        ({"a": MappingProxyType({})}, TypeError),
        ({"a": [{1}, {}]}, TypeError),
        ({(1, 2): {}}, TypeError),
    ],
)
def test_a_value_that_is_not_json_is_refused(value: dict[Any, Any], error: type[Exception], indent: int | None) -> None:
    with pytest.raises(error):
        to_json_bytes(value, indent)
