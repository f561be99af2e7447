# SPDX-License-Identifier: MIT
"""Arithmetic as text over named numbers, read and never run; metrics named by the user."""
from __future__ import annotations

import ast
import operator
from typing import Any, Callable, Mapping, Union

Metric = Union[str, Callable[["dict[str, Any]"], Any]]

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: "dict[str, Callable[..., Any]]" = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b)}


def _value(node: ast.AST, text: str, names: "Mapping[str, Any]") -> Any:
    if isinstance(node, ast.Expression):
        return _value(node.body, text, names)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"'{text}': unknown name '{node.id}': expected one of {', '.join(names)}")
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, text, names), _value(node.right, text, names))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords:
        return _FUNCTIONS[node.func.id](*(_value(a, text, names) for a in node.args))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, text, names)
    raise ValueError(f"'{text}': only names, numbers, + - * / // % ** ( ), min, max and ceil_div are read: give a function")


def value_of(text: str, names: "Mapping[str, Any]") -> Any:
    """The value of arithmetic as text. ValueError for text that is none."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as e:
        raise ValueError(f"'{text}': {e.msg}") from None
    return _value(tree, text, names)


def evaluate(metrics: "Mapping[str, Metric]", result: "dict[str, Any]") -> None:
    """Adds each metric to the result of a good config, in their order: a later one may name an earlier one."""
    for name, metric in metrics.items():
        result[name] = metric(result) if callable(metric) else value_of(metric, result)


def check(metrics: "Mapping[str, Metric]", result: "Mapping[str, Any]") -> None:
    """Before anything is measured: is text of metrics arithmetic over what a result has? ValueError, TypeError."""
    if not hasattr(metrics, "items"):
        raise TypeError(f"metrics: expected a dict of names and texts or functions, not {metrics!r}")
    known = dict(result)
    for name, metric in metrics.items():
        known[name] = 1.0
        if not callable(metric) and not isinstance(metric, str):
            raise TypeError(f"metrics['{name}']: expected text or a function of a result, not {metric!r}")
        if isinstance(metric, str):
            try:
                value_of(metric, known)
            except (ArithmeticError, TypeError):  # of these values; known when it is measured
                pass
