# SPDX-License-Identifier: MIT
"""Metrics named by the user: functions of a result, or arithmetic as text over its numbers. Text is read, never run."""
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


def _value(node: ast.AST, text: str, names: "Mapping[str, Any]") -> Any:
    if isinstance(node, ast.Expression):
        return _value(node.body, text, names)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"metric '{text}': unknown name '{node.id}': expected one of {', '.join(names)}")
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, text, names), _value(node.right, text, names))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, text, names)
    raise ValueError(f"metric '{text}': only names, numbers and + - * / // % ** ( ) are read: give a function")


def evaluate(metrics: "Mapping[str, Metric]", result: "dict[str, Any]") -> None:
    """Adds each metric to the result of a good config, in their order: a later one may name an earlier one."""
    for name, metric in metrics.items():
        if callable(metric):
            result[name] = metric(result)
            continue
        try:
            tree = ast.parse(metric.strip(), mode="eval")
        except SyntaxError as e:
            raise ValueError(f"metric '{metric}': {e.msg}") from None
        result[name] = _value(tree, metric, result)
