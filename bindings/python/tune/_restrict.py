# SPDX-License-Identifier: MIT
"""Restrictions as Kernel Tuner's users write them: text goes to `tune` as it is, a function is called for every
combination of the parameters it looks at, and what it allows becomes expressions."""
from __future__ import annotations

import inspect
import itertools
import math
from typing import Any, Callable, Dict, Iterable, Mapping, Sequence, Union

Restriction = Union[str, Callable[..., Any]]

MAX_CALLS = 1_000_000  # of one function
MAX_TEXT = 4000  # bytes of an expression; the product takes 4096
MAX_EXPRESSIONS = 100  # of one function; the product takes 128 in all


class _Seen(Dict[str, Any]):  # notes which parameters are looked at
    def __init__(self, config: "Mapping[str, Any]", names: "set[str]") -> None:
        super().__init__(config)
        self._names = names

    def __getitem__(self, name: str) -> Any:
        self._names.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._names.add(name)
        return super().get(name, default)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    return repr(float(value)) if isinstance(value, float) and not value.is_integer() else str(int(value))


def _named_arguments(function: "Callable[..., Any]", params: "Mapping[str, Any]") -> "Sequence[str]":
    """The parameters that a function asks for by name; none: it takes the whole config."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []
    return names if names and all(name in params for name in names) else []


def table(
    function: "Callable[..., Any]", params: "Mapping[str, Sequence[Any]]", words: str, names: "Sequence[str]" = ()
) -> "tuple[list[str], dict[tuple[Any, ...], Any]]":
    """Names of the parameters that decide about a function, and what it gives for each combination of their values. It
    gets parameters by these `names`; none: the config as a dict. What it raises is the caller's."""
    names = list(names)
    by_name = bool(names)
    seen: "set[str]" = set()
    if not names:
        names = list(params)
        n_calls = math.prod(len(params[name]) for name in names)
        if n_calls > MAX_CALLS:
            raise ValueError(
                f"{words}: {n_calls} combinations to call it for, at most {MAX_CALLS} are tried: give it as "
                "text, or as a function whose arguments are the parameters that it needs"
            )
    elif math.prod(len(params[name]) for name in names) > MAX_CALLS:
        raise ValueError(f"{words}: more than {MAX_CALLS} combinations of {', '.join(names)}")
    found = {}
    for values in itertools.product(*(params[name] for name in names)):
        config = dict(zip(names, values))
        found[values] = function(**config) if by_name else function(_Seen(config, seen))
    keep = [i for i, name in enumerate(names) if name in seen]
    if by_name or not keep:
        return names, found
    fewer: "dict[tuple[Any, ...], Any]" = {}
    for values, out in found.items():
        if fewer.setdefault(tuple(values[i] for i in keep), out) != out:  # the others decide, too
            return names, found
    return [names[i] for i in keep], fewer


def rules(names: "Sequence[str]", values: "Sequence[Sequence[Any]]", allowed: "frozenset[tuple[Any, ...]]") -> "list[str]":
    """Conjunctions that together allow exactly `allowed` (tuples over `names`, each out of `values`)."""
    if len(allowed) == math.prod(map(len, values)):
        return []
    if not allowed:
        return ["0"]
    groups: "dict[frozenset[tuple[Any, ...]], list[Any]]" = {}
    for v in values[0]:
        groups.setdefault(frozenset(t[1:] for t in allowed if t[0] == v), []).append(v)
    out = []
    nowhere = groups.pop(frozenset(), [])
    if nowhere:
        some = [v for v in values[0] if v not in nowhere]
        out.append(f"{names[0]} in {{{', '.join(map(_literal, some))}}}")
    for rest, firsts in groups.items():
        for rule in rules(names[1:], values[1:], rest) if len(names) > 1 else []:
            out.append(f"{names[0]} not in {{{', '.join(map(_literal, firsts))}}} or {rule}")
    return out


def _packed(rules: "Iterable[str]") -> "list[str]":
    """As few expressions as there may be."""
    out: "list[str]" = []
    for rule in rules:
        part = f"({rule})"
        if out and len(out[-1]) + len(part) + 5 <= MAX_TEXT:
            out[-1] += f" and {part}"
        else:
            out.append(part)
    return out


def expressions_of(function: "Callable[..., Any]", params: "Mapping[str, Sequence[Any]]") -> "list[str]":
    words = f"restriction {getattr(function, '__name__', 'of its own')}"
    names, found = table(function, params, words, _named_arguments(function, params))
    allowed = frozenset(values for values, out in found.items() if out)
    out = _packed(rules(names, [params[name] for name in names], allowed))
    if len(out) > MAX_EXPRESSIONS or any(len(text) > MAX_TEXT for text in out):
        raise ValueError(
            f"{words}: what it allows of {', '.join(names)} is too irregular to be handed on "
            f"({sum(map(len, out))} bytes): give it as text, or as functions of fewer parameters"
        )
    return out


def conditions(
    restrictions: "Union[None, Restriction, Sequence[Restriction]]", params: "Mapping[str, Sequence[Any]]"
) -> "list[str]":
    """Expressions that a valid config meets."""
    if restrictions is None:
        return []
    is_one = isinstance(restrictions, str) or callable(restrictions) or not hasattr(restrictions, "__iter__")
    each = [restrictions] if is_one else restrictions
    out: "list[str]" = []
    for r in each:
        if isinstance(r, str):
            out.append(r)
        elif callable(r) and not hasattr(r, "preProcess"):  # which those of the package `constraint` have
            out += expressions_of(r, params)
        else:
            raise TypeError(f"a restriction is text or a function, not {r!r}")
    return out
