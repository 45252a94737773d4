"""What came of building an article store."""

from __future__ import annotations

from dataclasses import dataclass

EXAMPLES = 10  # of each fault that a report names


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What an article store was built from, and what was left out.

    Attributes:
        articles: How many are in the store.
        redirects: Redirects that lead to one of them, straight or through others.
        dangling: Redirects that lead to nothing, those in circles apart; they are left out.
        circular: Redirects that lead round in a circle; they are left out.
        aliases: Aliases that articles brought along.
        links: Links of all articles read, whether or not their targets are in the store.
        names: Names under which articles are found.
        duplicates: Articles whose title another one had before.
        empty: Articles without text; they are left out.
        dangling_examples, circular_examples: Some of those, as "name → target".
        duplicate_examples, empty_examples: Titles of some of those.
        seconds: Time that this run took; not that of runs that it went on with.
        bytes: Size of the store.
    """

    articles: int
    redirects: int
    dangling: int
    circular: int
    aliases: int
    links: int
    names: int
    duplicates: int
    empty: int
    dangling_examples: tuple[str, ...]
    circular_examples: tuple[str, ...]
    duplicate_examples: tuple[str, ...]
    empty_examples: tuple[str, ...]
    seconds: float
    bytes: int
