"""Seconds to clean the pages of a MediaWiki dump: the importer, and mwparserfromhell's own `strip_code` over whole pages.

Run `python benchmarks/entities/dump.py DUMP`, with a dump of a few megabytes. Both clean the same pages, one after the other and
in turns, in one process; reading and unpacking the file is not part of the time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import mwparserfromhell

from benchmarks.entities.page import add_into, into
from factoid.entities.importers.mediawiki_xml import Page, read_pages
from factoid.entities.wikitext.clean import clean, links
from factoid.entities.wikitext.prepare import prepare


def first_words(page: Page) -> object:
    return clean(prepare(page.text), page.site, words=1000)


def with_links(page: Page) -> object:
    prepared = prepare(page.text)
    return clean(prepared, page.site, words=1000), list(links(prepared, page.site))


def whole_text(page: Page) -> object:
    return clean(prepare(page.text), page.site)


def strip_code(page: Page) -> object:
    return mwparserfromhell.parse(page.text).strip_code()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("dump", type=Path)
    arguments.add_argument("--rounds", type=int, default=3)
    add_into(arguments)
    given = arguments.parse_args()
    with into(given.into, "dump", plain=True):
        compare(given.dump, given.rounds)


def compare(dump: Path, rounds: int) -> None:
    start = time.perf_counter()
    pages = [page for page in read_pages(dump) if page.redirect is None and page.namespace == 0]
    reading = time.perf_counter() - start
    megabytes = sum(len(page.text.encode()) for page in pages) / 1e6
    print(
        f"{len(pages)} articles, {megabytes:.1f} MB of wikitext; read and unpacked at {megabytes / reading:.1f} MB/s\n"
    )

    ways: dict[str, Callable[[Page], object]] = {
        "first 1000 words": first_words,
        "first 1000 words and all links": with_links,
        "whole text": whole_text,
        "mwparserfromhell strip_code": strip_code,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            for page in pages:
                way(page)
            seconds[name].append(time.perf_counter() - start)
    baseline = statistics.median(seconds["mwparserfromhell strip_code"])
    print(f"{'':32} {'seconds':>8} {'MB/s':>8} {'articles/s':>11} {'times faster':>13}")
    for name, taken in seconds.items():
        median = statistics.median(taken)
        print(
            f"{name:32} {median:8.2f} {megabytes / median:8.1f} {len(pages) / median:11.0f} {baseline / median:13.1f}"
        )


if __name__ == "__main__":
    main()
