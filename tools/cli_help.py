"""Write docs/cli.md from the parser of the command line, so that it cannot go stale.

Usage: python tools/cli_help.py [--check]

The page is made from the parser's parts, not from its printed help, which differs between versions of Python.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from factoid.cli import build_parser

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"

HEAD = """# The command `factoid`

<!-- Written by `make docs` from the command line itself: change the help texts in shared/factoid/commands. -->

Results go to stdout, everything else to stderr. Progress bars show on a terminal only.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an error, told in one line on stderr |
| 2 | wrong usage |
| 130 | interrupted with Ctrl-C; what was committed stays, and the same command goes on from there |
"""


def render() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(_section(verb, parser) for verb, parser in _commands(build_parser()))])


def _commands(parser: argparse.ArgumentParser, before: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command and its parser, one with verbs of its own before these."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, own in action.choices.items():
                yield f"{before}{verb}", own
                yield from _commands(own, f"{before}{verb} ")


def _section(verb: str, parser: argparse.ArgumentParser) -> str:
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    verbs = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    if verbs:
        rows = [f"| `{choice.dest}` | {choice.help} |" for choice in verbs[0]._choices_actions]
        usage = f"    factoid {verb} {_name(verbs[0])} …"
        return "\n".join([f"## factoid {verb}", "", parser.description or "", "", usage, "", *_table(rows), ""])
    # As one types it: arguments first, then options.
    actions.sort(key=lambda action: bool(action.option_strings))
    usage = " ".join(["factoid", verb, *map(_usage, actions)])
    rows = [f"| `{_name(action)}` | {action.help} |" for action in actions]
    return "\n".join([f"## factoid {verb}", "", parser.description or "", "", f"    {usage}", "", *_table(rows), ""])


def _table(rows: list[str]) -> list[str]:
    return ["| argument | meaning |", "|---|---|", *rows]


def _usage(action: argparse.Action) -> str:
    text = _name(action)
    if not action.option_strings:
        return {"+": f"{text}…", "*": f"[{text}…]"}.get(str(action.nargs), text)
    return text if action.required else f"[{text}]"


def _name(action: argparse.Action) -> str:
    choices = ",".join(map(str, action.choices or ()))
    value = f"{{{choices}}}" if choices else str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return value
    return action.option_strings[-1] if action.nargs == 0 else f"{action.option_strings[-1]} {value}"


def main(arguments: list[str]) -> int:
    """Write the page, or with --check tell whether it is up to date."""
    page = render()
    if "--check" in arguments:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
            return 0
        print(f"{PAGE} is not up to date: run make docs", file=sys.stderr)
        return 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page, encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
