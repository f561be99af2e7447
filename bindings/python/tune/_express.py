# SPDX-License-Identifier: MIT
"""Functions of a config that give a number, as expressions that `tune` reads: a function is called once with symbols,
which note its arithmetic; one that asks for more than arithmetic is called for every combination of what it looks at."""
from __future__ import annotations

import math
import random
from typing import Any, Callable, Mapping, Sequence

from . import _metrics, _restrict

MAX_TEXT = 4000  # bytes of an expression; the product takes 4096
N_PROBES = 200  # configs for which a noted expression is held against its function

_OPERATORS: "dict[str, tuple[str, Callable[[Any, Any], Any]]]" = {
    "add": ("+", lambda a, b: a + b),
    "sub": ("-", lambda a, b: a - b),
    "mul": ("*", lambda a, b: a * b),
    "truediv": ("/", lambda a, b: a / b),
    "floordiv": ("//", lambda a, b: a // b),
    "mod": ("%", lambda a, b: a % b),
    "lt": ("<", lambda a, b: a < b),
    "le": ("<=", lambda a, b: a <= b),
    "gt": (">", lambda a, b: a > b),
    "ge": (">=", lambda a, b: a >= b),
    "eq": ("==", lambda a, b: a == b),
    "ne": ("!=", lambda a, b: a != b),
}


class _Symbol:
    """Stands for a number that is not known yet; whoever asks for the number itself gets a TypeError."""

    def __init__(self, text: str, value: "Callable[[Mapping[str, Any]], Any]") -> None:
        self.text, self.value = text, value

    def __neg__(self) -> "_Symbol":
        return _Symbol(f"(-{self.text})", lambda p: -self.value(p))

    def _refuse(self, *_: Any) -> Any:
        raise TypeError("not known yet")

    __bool__ = __int__ = __float__ = __index__ = __str__ = __format__ = __hash__ = _refuse


def _symbol_of(x: Any) -> "_Symbol":
    if isinstance(x, _Symbol):
        return x
    number = x.item() if hasattr(x, "item") else x
    if not isinstance(number, (int, float)):
        raise TypeError("no number")
    return _Symbol(f"({number!r})" if number < 0 else repr(number + 0), lambda p: number)


def _method(sign: str, apply: "Callable[[Any, Any], Any]", turned: bool) -> "Callable[[_Symbol, Any], _Symbol]":
    def method(self: _Symbol, other: Any) -> _Symbol:
        a, b = (_symbol_of(other), self) if turned else (self, _symbol_of(other))
        return _Symbol(f"({a.text} {sign} {b.text})", lambda p: apply(a.value(p), b.value(p)))

    return method


for _name, (_sign, _apply) in _OPERATORS.items():
    setattr(_Symbol, f"__{_name}__", _method(_sign, _apply, False))
    setattr(_Symbol, f"__r{_name}__", _method(_sign, _apply, True))  # __rlt__ and its like are never called


def _noted(function: "Callable[..., Any]", params: "Mapping[str, Sequence[Any]]") -> "str | None":
    """The arithmetic of a function that does nothing else."""
    symbols = {name: _Symbol(name, lambda p, name=name: p[name]) for name in params}  # type: ignore[misc]
    try:
        out = _symbol_of(function(symbols))
    except Exception:  # also what the user's own code makes of a symbol; with numbers it may do well
        return None
    rng = random.Random(0)
    for _ in range(N_PROBES):
        config = {name: rng.choice(values) for name, values in params.items()}
        if out.value(config) != function(config):
            return None
    return out.text if len(out.text) <= MAX_TEXT else None


def _listed(function: "Callable[..., Any]", params: "Mapping[str, Sequence[Any]]", where: str) -> str:
    """Each value of a function, times where it has it."""
    names, found = _restrict.table(function, params, where)
    by_value: "dict[Any, set[tuple[Any, ...]]]" = {}
    for values, number in found.items():
        number = number.item() if hasattr(number, "item") else number
        if not isinstance(number, (int, float)) or not math.isfinite(number):
            raise TypeError(f"{where}: a function of it gave {number!r}: expected a number")
        by_value.setdefault(number, set()).add(values)
    terms = []
    for number, some in by_value.items():
        rules = _restrict.rules(names, [params[name] for name in names], frozenset(some))
        terms.append(" * ".join([f"({number!r})", *([f"({' and '.join(f'({r})' for r in rules)})"] if rules else [])]))
    text = " + ".join(terms)
    if len(text) > MAX_TEXT:
        raise ValueError(f"{where}: a function of {', '.join(names)} is too irregular to be handed on: give it as text")
    return text


def text_of(value: Any, params: "Mapping[str, Sequence[Any]]", where: str) -> str:
    """A number, text or function of a config (a dict) as an expression."""
    if callable(value):
        return _noted(value, params) or _listed(value, params, where)
    if isinstance(value, str):
        return value
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise TypeError(f"{where}: expected a number, an expression or a function of a config, not {value!r}")
    return repr(number)


def number_of(value: Any, config: "Mapping[str, Any]") -> float:
    """The same for one config, here. Text is cut to a whole number, as Kernel Tuner does."""
    if callable(value):
        return float(value(dict(config)))
    return float(math.floor(_metrics.value_of(value, config))) if isinstance(value, str) else float(value)
