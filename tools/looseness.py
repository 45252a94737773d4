"""Measure how loosely the packages are written, and fail above the goals.

    python tools/looseness.py [--files] [path ...]

Counts are per 1,000 lines of code, blank lines and docstrings left out: comprehensions, conditional
expressions, and assignments of a tuple to a tuple. The share of long lines is of all lines. The
length of a function is that of its body, without its docstring and blank lines.
"""

from __future__ import annotations

import argparse
import ast
import io
import statistics
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("shared/factoid", "langchain_factoid", "llama_index_factoid")
COLUMNS = 100

COMPREHENSIONS = 30
CONDITIONALS = 20
TUPLES = 3
PERCENTILE_95 = 30
LONGEST = 60

Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Documented = (ast.Module, ast.ClassDef, *Function)


@dataclass(slots=True)
class Looseness:
    """What was counted in one file or in several."""

    lines: int = 0
    long_lines: int = 0
    code: int = 0  # lines that are neither blank nor part of a docstring
    comprehensions: int = 0
    conditionals: int = 0
    tuples: int = 0
    functions: list[tuple[int, str]] = field(default_factory=list)  # length and name

    def __add__(self, other: Looseness) -> Looseness:
        return Looseness(
            self.lines + other.lines,
            self.long_lines + other.long_lines,
            self.code + other.code,
            self.comprehensions + other.comprehensions,
            self.conditionals + other.conditionals,
            self.tuples + other.tuples,
            self.functions + other.functions,
        )

    def per_thousand(self, count: int) -> float:
        """Return a count per 1,000 lines of code."""
        return 1000 * count / max(1, self.code)

    @property
    def long_share(self) -> float:
        """The share of lines with too many columns, in percent."""
        return 100 * self.long_lines / max(1, self.lines)

    @property
    def lengths(self) -> list[int]:
        """The lengths of functions, shortest first."""
        return sorted(length for length, _ in self.functions) or [0]

    @property
    def percentile_95(self) -> int:
        """The length that 95 % of the functions do not exceed."""
        lengths = self.lengths
        return lengths[int(0.95 * (len(lengths) - 1))]


def measure(file: Path) -> Looseness:
    """Return the counts of one file."""
    source = file.read_text(encoding="utf-8")
    tree = ast.parse(source)
    code = code_lines(source, tree)
    lines = source.splitlines()
    counts = Looseness(lines=len(lines), code=len(code))
    counts.long_lines = sum(len(line) > COLUMNS for line in lines)
    for node in ast.walk(tree):
        if isinstance(node, Comprehension):
            counts.comprehensions += 1
        elif isinstance(node, ast.IfExp):
            counts.conditionals += 1
        elif isinstance(node, ast.Assign):
            counts.tuples += assigns_tuple(node)
        elif isinstance(node, Function):
            body = code.intersection(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
            counts.functions.append(
                (len(body), f"{file.relative_to(ROOT)}:{node.lineno} {node.name}")
            )
    return counts


def assigns_tuple(node: ast.Assign) -> bool:
    """Return whether a tuple is assigned to a tuple, and this is no swap."""
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Tuple):
        return False
    targets = {ast.unparse(element) for element in target.elts}
    values = {ast.unparse(element) for element in node.value.elts}
    return targets != values


def code_lines(source: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that hold code or a comment."""
    lines: set[int] = set()
    blank = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in blank:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return lines


def sources(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the Python files at some paths."""
    for path in paths:
        if path.is_file():
            yield path.resolve()
        else:
            yield from sorted(path.resolve().rglob("*.py"))


def show_files(counts: dict[Path, Looseness]) -> None:
    """Print one line a file, the least loose first."""

    def tightness(item: tuple[Path, Looseness]) -> int:
        return -(item[1].comprehensions + item[1].conditionals + item[1].tuples)

    print("code  compr.  cond.  tuples  long  longest  file")
    for file, one in sorted(counts.items(), key=tightness):
        print(
            f"{one.code:4}  {one.comprehensions:6}  {one.conditionals:5}  {one.tuples:6}  "
            f"{one.long_lines:4}  {one.lengths[-1]:7}  {file.relative_to(ROOT)}"
        )


def failures(total: Looseness) -> list[str]:
    """Return the names of the goals that are missed."""
    goals = {
        "comprehensions": total.per_thousand(total.comprehensions) <= COMPREHENSIONS,
        "conditional expressions": total.per_thousand(total.conditionals) <= CONDITIONALS,
        "tuple assignments": total.per_thousand(total.tuples) <= TUPLES,
        f"lines over {COLUMNS} columns": total.long_lines == 0,
        "95th percentile of functions": total.percentile_95 <= PERCENTILE_95,
        "longest function": total.lengths[-1] <= LONGEST,
    }
    return [name for name, is_met in goals.items() if not is_met]


def main() -> int:
    """Print the measures; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / name for name in PACKAGES])
    parser.add_argument(
        "--files", action="store_true", help="one line a file, the least loose first"
    )
    arguments = parser.parse_args()
    counts = {file: measure(file) for file in sources(arguments.paths)}
    total = sum(counts.values(), Looseness())
    if arguments.files:
        show_files(counts)
    print(f"lines of code             {total.code:,}")
    print(
        f"comprehensions            {total.per_thousand(total.comprehensions):.1f}  (goal "
        f"{COMPREHENSIONS})"
    )
    print(
        f"conditional expressions   {total.per_thousand(total.conditionals):.1f}  (goal "
        f"{CONDITIONALS})"
    )
    print(f"tuple assignments         {total.per_thousand(total.tuples):.1f}  (goal {TUPLES})")
    print(f"lines over {COLUMNS} columns    {total.long_share:.1f} %  (goal 0)")
    print(
        f"functions                 median {statistics.median(total.lengths):.0f}, p95 "
        f"{total.percentile_95} (goal {PERCENTILE_95}), longest {total.lengths[-1]} (goal "
        f"{LONGEST})"
    )
    for length, name in sorted(total.functions, reverse=True):
        if length > LONGEST:
            print(f"too long: {length} lines, {name}")
    missed = failures(total)
    if missed:
        print(f"above the goals: {', '.join(missed)}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
