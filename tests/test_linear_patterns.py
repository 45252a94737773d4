"""No pattern takes longer than linear time, whatever text it is given."""

from __future__ import annotations

import ast
import importlib
import itertools
import pkgutil
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGES = ("factoid", "langchain_factoid", "llama_index_factoid")
# The methods of a pattern, by the one that does the same work: all but two look for every match.
_METHODS = {"match": "match", "fullmatch": "fullmatch"} | dict.fromkeys(
    ("search", "finditer", "findall", "sub", "subn", "split"), "finditer"
)
_ATOMS = (" ", "a", "A", "1", ".", "\n", "(", "-", ",", "'", '"')  # besides those that a pattern names itself
_MOST_ATOMS = 8
_CLASS, _NAMED = re.compile(r"\\[AbBdDsSwWZ]|\(\?[:>!=]|\?P<\w+>"), re.compile(r"[^\W_]+|[^\w\s]")
_SHORT, _LONG = 1_000, 4_000  # characters
_QUICK = 0.0005  # seconds; no quadratic pattern gets through the short text in that time
_TRIES = 4
_MOST_GROWTH = 8  # from the short text to the long one: linear is 4, quadratic 16


def test_every_pattern_is_linear_on_hostile_text() -> None:
    patterns = {(pattern, method): name for name, pattern, methods in _patterns() for method in methods}
    assert len(patterns) > 100
    slow = [
        f"{name}: {pattern.pattern!r}.{method} on {text(12)!r}"
        for (pattern, method), name in patterns.items()
        if (text := _slow_text(pattern, method)) is not None
    ]
    assert slow == []


def test_a_quadratic_pattern_is_noticed() -> None:
    assert _slow_text(re.compile(r"\s*[|;]\s*"), "finditer") is not None
    assert _slow_text(re.compile(r"[\d.]+(?:\d*/\d+)?"), "fullmatch") is not None
    assert _slow_text(re.compile(r"(?<!\s)\s*+[|;]\s*+"), "finditer") is None


def test_patterns_that_are_made_while_running_see_no_hostile_text() -> None:
    made = {
        module.__name__
        for module, tree in _modules().items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for call in _calls(function)
        if not isinstance(call.args[0], ast.Constant)
    }
    # the answers to the demo's own questions, runs of backticks, and pairs of brackets
    assert made == {
        "factoid.demo",
        "factoid.markdown",
        "factoid.entities.wikitext.clean",
    }


@cache
def _modules() -> dict[ModuleType, ast.Module]:
    names = [
        info.name
        for package in _PACKAGES
        for info in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
        if not info.name.endswith("__main__")
    ]
    modules = map(importlib.import_module, [*_PACKAGES, *names])
    return {module: ast.parse(Path(str(module.__file__)).read_text("utf-8")) for module in modules}


def _patterns() -> Iterator[tuple[str, re.Pattern[str], set[str]]]:
    """Yield all patterns, each with its name and the methods that are called on it; all methods where none is."""
    for module, tree in _modules().items():
        methods: dict[str, set[str]] = defaultdict(set)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                owner = node.value.value if isinstance(node.value, ast.Subscript) else node.value
                methods[ast.unparse(owner)].add(_METHODS[node.attr])
        for name, value in vars(module).items():
            for pattern in _within(value):
                yield f"{module.__name__}.{name}", pattern, methods[name] or {*_METHODS.values()}
        for call in _calls(tree):
            if isinstance(call.args[0], ast.Constant) and call.func.attr != "compile":
                pattern = re.compile(str(call.args[0].value))
                yield f"{module.__name__}, line {call.lineno}", pattern, {_METHODS[call.func.attr]}


def _calls(tree: ast.AST) -> Iterator[Any]:
    """Yield the calls of functions of `re` that take a pattern."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {f"re.{name}" for name in ("compile", *_METHODS)}:
            yield node


def _within(value: object) -> Iterator[re.Pattern[str]]:
    match value:
        case re.Pattern(pattern=bytes() as pattern):
            yield re.compile(pattern.decode("latin-1"), value.flags)
        case re.Pattern():
            yield value
        case dict():
            yield from itertools.chain.from_iterable(map(_within, value.values()))
        case list() | tuple() | set() | frozenset():
            yield from itertools.chain.from_iterable(map(_within, value))


def _slow_text(pattern: re.Pattern[str], method: str) -> Callable[[int], str] | None:
    """Return a text, by its length, for which a pattern takes more than linear time; None if there is none."""
    return next((text for text in _texts(pattern) if _is_slow(pattern, method, text)), None)


def _is_slow(pattern: re.Pattern[str], method: str, text: Callable[[int], str]) -> bool:
    short, long = text(_SHORT), text(_LONG)
    if _seconds(pattern, method, short) < _QUICK:
        return False
    # A loaded machine slows one measurement, a pattern that is not linear all of them.
    return all(_seconds(pattern, method, long) > _MOST_GROWTH * _seconds(pattern, method, short) for _ in range(_TRIES))


def _seconds(pattern: re.Pattern[str], method: str, text: str) -> float:
    best = float("inf")
    for _ in range(3):
        began = time.thread_time()
        if method == "finditer":
            for _match in pattern.finditer(text):
                pass
        else:
            getattr(pattern, method)(text)
        best = min(best, time.thread_time() - began)
        if best < _QUICK:
            break
    return best


def _texts(pattern: re.Pattern[str]) -> Iterator[Callable[[int], str]]:
    """Yield repeated atoms, repeated pairs, and repeated atoms after another; what follows keeps a match from ending well."""
    named = _NAMED.findall(_CLASS.sub(" ", pattern.pattern).replace("\\", ""))  # characters and words of the pattern
    atoms = sorted({*_ATOMS, *sorted(set(named), key=lambda literal: (len(literal), literal))[:_MOST_ATOMS]})
    for atom in atoms:
        yield lambda size, atom=atom: atom * (size // len(atom))  # type: ignore[misc]
    for first, second in itertools.permutations(atoms, 2):
        yield lambda size, pair=first + second: pair * (size // len(pair)) + "\0"  # type: ignore[misc]
        yield lambda size, first=first, second=second: first + second * (size // len(second)) + "\0"  # type: ignore[misc]
