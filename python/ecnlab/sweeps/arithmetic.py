"""Derived values: expressions such as "90 Mbps / flows", "flows / 3", "min(2 * limit, 120)".

Numbers, quantities with a unit, names of the sweep's parameters, + - * / // % **, brackets, and min, max, round, floor, ceil.
Units are checked: operands of a sum or comparison must have the same unit, and at most one factor of a product may have one.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Sequence

from ecnlab.errors import UsageError, require_known_name
from ecnlab.scenarios.units import UNITS, parse_quantity
from ecnlab.sweeps.values import Values

ValueWithUnit = tuple[float, str]

# A literal with its unit, as in 90 Mbps.
_QUANTITY_LITERAL = re.compile(rf"(?<![\w.])(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*({'|'.join(sorted(UNITS, key=len, reverse=True))})\b")
_QUANTITY_NAME = {"s": "s", "bit/s": "bps", "bytes": "B", "packets": "packets"}
_MAX_EXPONENT = 1e300

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: math.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "round": round, "floor": math.floor, "ceil": math.ceil}


def evaluate_expression(expression: str, names: Values) -> int | float | str:
    """Evaluate an expression to a scenario value; `names` are the parameters' values. Raises UsageError."""
    try:
        tree = ast.parse(_QUANTITY_LITERAL.sub(r"quantity('\1 \2')", expression.strip()), mode="eval")
        number, unit = _evaluate_node(tree.body, names)
    except (SyntaxError, ValueError, RecursionError):
        raise UsageError(f'{expression!r} cannot be parsed; fix: write it as "flows / 3" or "90 Mbps / flows"') from None
    except (ArithmeticError, TypeError) as error:
        raise UsageError(f"{expression!r} has no value: {error}") from None
    if not abs(number) < _MAX_EXPONENT:
        raise UsageError(f"{expression!r} has no value: it is out of range")
    plain = int(number) if number == int(number) else number
    return f"{plain} {_QUANTITY_NAME[unit]}" if unit else plain


def _evaluate_node(node: ast.expr, names: Values) -> ValueWithUnit:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number, ""
        case ast.Name(id=name):
            return _value_of_parameter(name, names)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            number, unit = _evaluate_node(inner, names)
            return (-number if isinstance(sign, ast.USub) else number), unit
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            (a, unit_of_a), (b, unit_of_b) = _evaluate_node(left, names), _evaluate_node(right, names)
            return _OPERATORS[type(sign)](a, b), _unit_of_operation(sign, unit_of_a, unit_of_b)
        case ast.Call(func=ast.Name(id="quantity"), args=[ast.Constant(value=str(text))]):
            if found := parse_quantity(text):
                return found
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as inner, keywords=[]) if name in _FUNCTIONS:
            return _apply_function(name, [_evaluate_node(one, names) for one in inner])
    raise ValueError


def _value_of_parameter(name: str, names: Values) -> ValueWithUnit:
    require_known_name("parameter of the sweep", name, names)
    value = names[name]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value, ""
    found = parse_quantity(value) if isinstance(value, str) else None
    if found is None:
        raise UsageError(f"{name} is {value!r}, which is not a number")
    return found


def _unit_of_operation(sign: ast.operator, a: str, b: str) -> str:
    """The unit of an operation's result. Raises TypeError for incompatible units."""
    if isinstance(sign, (ast.Add, ast.Sub)) and a == b:
        return a
    if isinstance(sign, ast.Mult) and not (a and b):
        return a or b
    if isinstance(sign, (ast.Div, ast.FloorDiv)) and (not b or a == b):
        return "" if b else a
    if isinstance(sign, (ast.Mod, ast.Pow)) and not (a or b):
        return ""
    raise TypeError(f"its units ({a or 'none'} and {b or 'none'}) do not fit together")


def _apply_function(name: str, inner: Sequence[ValueWithUnit]) -> ValueWithUnit:
    units = {unit for _, unit in inner}
    if len(units) > 1:
        raise TypeError(f"its units ({', '.join(sorted(unit or 'none' for unit in units))}) do not fit together")
    return _FUNCTIONS[name](*(number for number, _ in inner)), units.pop()
