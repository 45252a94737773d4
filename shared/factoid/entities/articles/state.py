"""How far a build has come, and whether it may go on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path

from factoid.entities.articles.schema import FORMAT
from factoid.errors import InvalidInputError, StoreFormatError


@dataclass(slots=True)
class State:
    """How far a build has come.

    Attributes:
        sources: Names of what it reads.
        words: Words of an article that it keeps.
        source, records: Which source it reads, and how many records of that it has.
        stage: Stages of `finish` that are done.
        Others are what a `BuildReport` says.
    """

    sources: list[str]
    words: int
    format: int = FORMAT
    source: int = 0
    records: int = 0
    stage: int = 0
    read_articles: int = 0
    read_redirects: int = 0
    aliases: int = 0
    links: int = 0
    empty: int = 0
    empty_examples: list[str] = field(default_factory=list)
    redirects: int = 0
    dangling: int = 0
    dangling_examples: list[str] = field(default_factory=list)
    circular: int = 0
    circular_examples: list[str] = field(default_factory=list)
    duplicates: int = 0
    duplicate_examples: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


def read_state(value: str, path: Path) -> State:
    """Return the state of an unfinished build of a path, as it was kept.

    Raises:
        StoreFormatError: Another version wrote it, or it is damaged.
    """
    known = {each.name for each in fields(State)}
    try:
        state = json.loads(value)
        if state["format"] == FORMAT and set(state) == known:
            return State(**state)
    except (ValueError, KeyError, TypeError):
        pass
    message = (
        f"the unfinished build of {path} was begun by another version of factoid, or is damaged. Start over with "
        "resume=False, on the command line with --restart"
    )
    raise StoreFormatError(message)


def check_same(state: State, sources: list[str], words: int, path: Path) -> None:
    """Refuse to go on with other sources or options than before.

    Raises:
        InvalidInputError: They differ; says in what.
    """
    if state.words != words:
        differs = f"{state.words} words of an article, now {words}"
    elif state.sources != sources:
        before = [name for name in state.sources if name not in sources] or state.sources
        now = [name for name in sources if name not in state.sources] or sources
        differs = f"{'; '.join(before)}. Now it is {'; '.join(now)}"
    else:
        return
    message = (
        f"the unfinished build of {path} was begun with {differs}. Build from the same again, or start over with "
        "resume=False, on the command line with --restart"
    )
    raise InvalidInputError(message)
