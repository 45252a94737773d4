"""The command `factoid`: index, search and split your own files, and run a demonstration.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 an error (reported in one
line), 2 wrong usage, 130 interrupted. A command imports what it needs when it runs, so that help
and completion are quick.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from factoid.cli import (
    articles,
    build,
    compare,
    documents,
    index,
    inspect,
    load,
    mcp,
    propositions,
    reproduce,
    search,
    store,
    train,
    tune,
)
from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import FactoidError
from factoid.terminal import wants_color

# Typer has a Click of its own in newer versions, and names only this one of its errors of usage.
_UsageError: Any = typer.BadParameter.__base__


class _Program(TyperGroup):
    """The group of all commands: it turns errors of the library into one line and an exit code."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run one command."""
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("factoid: %(message)s"))
        logger = logging.getLogger("factoid")
        logger.addHandler(handler)
        try:
            super().invoke(ctx)
            sys.stdout.flush()  # now, so that a reader who has left is noticed here
        except BrokenPipeError:
            raise  # Typer ends quietly when the reader has left
        except KeyboardInterrupt as interrupt:
            _fail("interrupted", 130, interrupt)
        except _UsageError as error:
            _say_what_to_type(error)
            raise
        except (FactoidError, OSError) as error:
            _fail(f"error: {' '.join(str(error).split())}", 1, error)
        finally:
            logger.removeHandler(handler)


def _say_what_to_type(error: Any) -> None:
    """Let an error about a missing or an unknown option end with a command that is complete."""
    if error.ctx is None or isinstance(error.ctx.command, TyperGroup):
        return
    command = error.ctx.command_path
    for parameter in error.ctx.command.params:
        if not parameter.required:
            continue
        name = (parameter.metavar or parameter.name).upper()
        if parameter.param_type_name == "option":
            name = f"{parameter.opts[0]} {name}"
        command += f" {name}…" if parameter.nargs == -1 else f" {name}"
    unknown = getattr(error, "option_name", None)
    if unknown:
        error.message = f"No such option: {unknown}. Type: {command} [OPTIONS]"
        if unknown == "--store":
            error.possibilities = None  # what is spelt alike is not what is meant
    elif getattr(error, "param", None) is not None and not error.message:
        error.message = f"Type: {command}"


app = typer.Typer(cls=_Program, no_args_is_help=True, pretty_exceptions_enable=False)
app.add_typer(store.app, name="store")
app.add_typer(reproduce.app, name="reproduce")
for _command in (
    index.index,
    build.build,
    search.search,
    load.load,
    tune.tune,
    mcp.mcp,
    compare.compare,
    inspect.inspect,
    propositions.split,
    documents.clean,
    documents.tables,
    propositions.estimate,
    propositions.batch,
    train.train_propositionizer,
    train.train_agrame,
    articles.build_articles,
    articles.articles,
    articles.verify_articles,
):
    app.command()(opts.grouped(_command))  # named as the function, with "-" for "_"


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print("factoid", version("factoid"))
        raise typer.Exit


@app.callback()
def _factoid(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Retrieval at the right granularity: passages, sentences and propositions."""


@app.command("demo")
def _demo(
    questions: Annotated[
        list[str] | None, argument("QUESTION", "Questions to ask instead of the prepared ones.")
    ] = None,
    docs: Annotated[
        str | None, option("PATH", "Use your own folder or file instead of the encyclopedia.")
    ] = None,
    encoder: opts.EncoderName = None,
    quiet: opts.Quiet = False,
) -> None:
    """Show what each granularity finds, on a small encyclopedia or on your own files."""
    from factoid.demo import run_demo
    from factoid.late_interaction import LateInteractionEncoder, PropCite

    for question in questions or ():
        opts.check_question(question)
    run_demo(
        docs,
        questions or (),
        encoder=opts.make_encoder(encoder),
        citer=PropCite(LateInteractionEncoder(encoder, projection=False)),
        color=wants_color(sys.stdout),
        progress=opts.progress(quiet),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    With None for `argv`, use the arguments of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # do not fail on a character that the terminal lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        typer.main.get_command(app).main(argv, prog_name="factoid")
    except SystemExit as exited:
        return int(exited.code or 0)
    return 0


def _fail(message: str, code: int, cause: BaseException) -> NoReturn:
    print("factoid:", message, file=sys.stderr)
    raise typer.Exit(code) from cause
