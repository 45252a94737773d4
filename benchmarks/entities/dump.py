"""Processor time to clean the pages of a MediaWiki dump: the importer, and mwparserfromhell's own
`strip_code` over whole pages.

Run `python benchmarks/entities/dump.py DUMP`, with a dump of a few megabytes. Both clean the same
pages, one after the other and in turns, in one process; reading and unpacking the file is not part
of the time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import iterparse

import mwparserfromhell

from benchmarks.entities.page import add_into, into
from factoid.entities.importers.wikitext import links, plain_text, strip_tags
from factoid.files.lines import opened

HIDDEN = ("file", "image", "media", "category")


def first_words(wikitext: str) -> object:
    return plain_text(strip_tags(wikitext), HIDDEN, words=1000)


def with_links(wikitext: str) -> object:
    prepared = strip_tags(wikitext)
    return plain_text(prepared, HIDDEN, words=1000), links(prepared, HIDDEN)


def whole_text(wikitext: str) -> object:
    return plain_text(strip_tags(wikitext), HIDDEN)


def strip_code(wikitext: str) -> object:
    return mwparserfromhell.parse(wikitext).strip_code()


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("dump", type=Path)
    arguments.add_argument("--rounds", type=int, default=3)
    add_into(arguments)
    given = arguments.parse_args()
    with into(given.into, "dump", plain=True):
        compare(given.dump, given.rounds)


def compare(dump: Path, rounds: int) -> None:
    start = time.process_time()
    pages = []
    with opened(dump) as file:
        for _, page in iterparse(file):
            if (
                page.tag.endswith("page")
                and page.findtext("{*}ns") == "0"
                and page.find("{*}redirect") is None
            ):
                pages.append(page.findtext("{*}revision/{*}text", ""))
    reading = time.process_time() - start
    megabytes = sum(len(page.encode()) for page in pages) / 1e6
    print(
        f"{len(pages)} articles, {megabytes:.1f} MB of wikitext; read and unpacked at "
        f"{megabytes / reading:.1f} MB/s\n"
    )

    ways: dict[str, Callable[[str], object]] = {
        "first 1000 words": first_words,
        "first 1000 words and all links": with_links,
        "whole text": whole_text,
        "mwparserfromhell strip_code": strip_code,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            for page in pages:
                way(page)
            seconds[name].append(time.process_time() - start)
    baseline = statistics.median(seconds["mwparserfromhell strip_code"])
    print(f"{'':32} {'seconds':>8} {'MB/s':>8} {'articles/s':>11} {'times faster':>13}")
    for name, taken in seconds.items():
        median = statistics.median(taken)
        print(
            f"{name:32} {median:8.2f} {megabytes / median:8.1f} {len(pages) / median:11.0f} "
            f"{baseline / median:13.1f}"
        )


if __name__ == "__main__":
    main()
