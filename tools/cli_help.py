"""Write docs/cli.md from the help of the command line, so that it cannot go stale: `make docs`."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from factoid.cli import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"

HEAD = Path(__file__).with_name("cli_head.md").read_text(encoding="utf-8")


def render() -> str:
    """Return the page."""
    command = typer.main.get_command(app)
    docs = get_docs_for_click(
        obj=command, ctx=typer.Context(command), name="factoid", title="Commands", indent=1
    )
    for verb in [*command.commands.values(), *command.commands["store"].commands.values()]:
        docs = docs.replace(
            f"`{verb.name}`: {verb.get_short_help_str()}\n",
            f"`{verb.name}`: {verb.get_short_help_str(200)}\n",
        )
    return f"{HEAD}\n{docs.strip()}\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE}")
