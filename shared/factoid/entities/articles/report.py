"""What came of building an article store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EXAMPLES = 10  # of each fault that a report names


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What an article store was built from, and what was left out.

    Attributes:
        articles: How many are in the store.
        redirects: Redirects that lead to one of them, straight or through others.
        dangling: Redirects that lead to nothing, those in circles apart; they name no article (see `ArticleStore.title_of`).
        circular: Redirects that lead round in a circle; they are left out.
        aliases: Aliases that articles brought along.
        links: Links of all articles read, whether or not their targets are in the store.
        names: Names under which articles are found.
        duplicates: Articles whose title another one had before.
        empty: Articles without text; they are left out.
        dangling_examples, circular_examples: Some of those, as "name → target".
        duplicate_examples, empty_examples: Titles of some of those.
        left_out: What the sources left out, by reason: pages of a dump that are no articles, such as disambiguation pages.
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
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)


_SETTLED = {"first": "; the first was kept", "last": "; the last was kept", "join": "; their texts were joined"}


def describe_faults(report: BuildReport, duplicates: str) -> list[str]:
    """Return what a build could not keep, as lines of a count, what it is, and examples.

    Args:
        report: The build's.
        duplicates: How articles of one title were settled; see `build_articles`.
    """
    settled = _SETTLED.get(duplicates, "")
    return [
        f"{number:,} {noun if number == 1 else noun + 's'} {what}: "
        + "; ".join(examples)
        + (" …" if number > len(examples) else "")
        for number, noun, what, examples in (
            (
                report.duplicates,
                "article",
                f"with a title that another article had before{settled}",
                report.duplicate_examples,
            ),
            (report.empty, "article", "left out that had no text", report.empty_examples),
            (report.dangling, "redirect", "left out that led to no article", report.dangling_examples),
            (report.circular, "redirect", "left out that led round in a circle", report.circular_examples),
        )
        if number
    ]
