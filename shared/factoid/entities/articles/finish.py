"""From what was read to what readers need: duplicates, redirects, names, and a last look at the file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from factoid.entities.articles.duplicates import Duplicates, list_titles, settle_duplicates, worth_vacuuming
from factoid.entities.articles.naming import find_names, write_names
from factoid.entities.articles.redirects import follow_redirects
from factoid.entities.articles.schema import mark_finished
from factoid.entities.articles.stats import read_meta, write_meta
from factoid.entities.articles.unfinished import Unfinished, building_path
from factoid.errors import InvalidInputError, StoreError
from factoid.progress import progress_bar
from factoid.sqlite_file import explain

_SMALL = (
    100_000  # articles, names and links of which the finish is done at once: to wait for the disk would take longer
)


def finish(unfinished: Unfinished, duplicates: Duplicates, *, show_progress: bool) -> int:
    """Make what readers need of what was read, stage by stage, each whole or again; return how many names there are.

    Raises:
        InvalidInputError: There are no articles, or duplicates that are an error.
        StoreError: The disk is full or fails, or the file was damaged.
    """
    state = unfinished.state
    if not state.read_articles:
        read = "; ".join(source or "the documents" for source in state.sources)
        message = f"there is no article to store in {read}" + (f": {state.empty} without text" if state.empty else "")
        raise InvalidInputError(message)

    def articles(connection: sqlite3.Connection) -> None:
        list_titles(connection)
        settle_duplicates(connection, state, duplicates)

    stages: list[Callable[[sqlite3.Connection], object]] = [
        articles,
        lambda connection: follow_redirects(connection, state),
        find_names,
        write_names,
        lambda connection: write_meta(connection, state),
    ]
    with progress_bar(show=show_progress, unit=" steps", desc="finishing", total=len(stages) + 1) as bar:
        bar.update(state.stage)
        small = state.read_articles + state.read_redirects + state.aliases + state.links < _SMALL
        while state.stage < len(stages):
            with unfinished.transaction() as connection:
                for stage in stages[state.stage :] if small else [stages[state.stage]]:
                    stage(connection)
                    state.stage += 1
                    bar.update(1)
        names = _make_sure(unfinished)
        bar.update(1)
    return names


def _make_sure(unfinished: Unfinished) -> int:
    """Check the file that was made, and mark it as whole; return how many names it has.

    Raises:
        StoreError: It is damaged.
    """
    connection = unfinished.connection
    try:
        if worth_vacuuming(connection):
            connection.execute("VACUUM main")
        faults = [row[0] for row in connection.execute("PRAGMA main.quick_check(3)") if row[0] != "ok"]
        state = unfinished.state
        articles = state.read_articles - state.duplicates
        names: int = sum(json.loads(read_meta(connection)["names"]).values())
        for table, expected in (("article", articles), ("body", articles), ("name", names)):
            (count,) = connection.execute(f"SELECT COUNT(*) FROM main.{table}").fetchone()  # noqa: S608
            if count != expected:
                faults.append(f"{count} rows of {table}, and not {expected}")
        if not faults:
            mark_finished(connection)
    except sqlite3.Error as error:
        message = f"{unfinished.path} cannot be built: {explain(error)}"
        raise StoreError(message) from error
    if faults:
        message = (
            f"{building_path(unfinished.path)} was damaged while it was built: {'; '.join(faults)}. Start over with "
            "resume=False, on the command line with --restart"
        )
        raise StoreError(message)
    return names
