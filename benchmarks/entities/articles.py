"""Builds an article store of a million made-up articles, and looks articles up in it: `python -m
benchmarks.entities.articles`.

Texts are words of a made-up vocabulary whose frequencies follow Zipf's law, in articles of
log-normal length. Each has a redirect, ten links, and every third an alias. The build and the
look-ups run in processes of their own.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import platform
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.entities.page import add_into
from benchmarks.store.report import fill, markdown
from factoid.entities import Article, ArticleStore, Redirect, build_articles
from factoid.entities.articles.article import Record
from factoid.entities.articles.names import name_key

_VOCABULARY = 50_000
# mean and log-normal spread of an article's length
_WORDS = 400
_SPREAD = 0.8
_LINKS = 10
_CHUNK = 500  # articles made at a time
_QUESTION = 78  # n-grams of a question of twelve words


class Synthetic:
    """A source of made-up articles, the same for the same number."""

    def __init__(self, articles: int) -> None:
        self.articles = articles
        chance = random.Random(0)
        onsets = "b d f g k l m n p r s t v st tr ch".split()
        syllables = list(map("".join, product(onsets, "a e i o u ai ou en".split())))
        words: dict[str, None] = {}
        while len(words) < _VOCABULARY:  # short words first, so that the frequent ones are short
            count = 1 + len(words) * 4 // _VOCABULARY + chance.randrange(2)
            words["".join(chance.choices(syllables, k=count))] = None
        self._words = list(words)
        weights = 1 / np.arange(1, _VOCABULARY + 1)
        self._cumulated = np.cumsum(weights / weights.sum())

    def title(self, number: int) -> str:
        rest, first = divmod(number, _VOCABULARY)
        own = f"{self._words[first].capitalize()} {self._words[(31 * rest + first) % _VOCABULARY]}"
        return f"{own} (thing)" if number % 5 == 0 else own

    def __iter__(self) -> Iterator[Record]:
        for start in range(0, self.articles, _CHUNK):
            for article in self._chunk(start):
                yield article
                yield Redirect(f"{article.title} of old", article.title)

    def _chunk(self, start: int) -> Iterator[Article]:
        count = min(_CHUNK, self.articles - start)
        chance = np.random.default_rng(start)
        lengths = (
            chance.lognormal(math.log(_WORDS) - _SPREAD**2 / 2, _SPREAD, count).astype(int) + 5
        )
        drawn = (
            np.searchsorted(self._cumulated, chance.random(int(lengths.sum())))
            .clip(max=_VOCABULARY - 1)
            .tolist()
        )
        targets = (
            (chance.random((count, _LINKS)) ** 3 * self.articles).astype(int).tolist()
        )  # some are linked to often
        at = 0
        for number, length in enumerate(lengths.tolist()):
            words = [self._words[index] for index in drawn[at : at + length]]
            at += length
            links = []
            for position, target in enumerate(targets[number]):
                title = self.title(target)
                links.append((title if position % 2 else words[position % length], title))
            aliases = (f"{words[0]} {words[-1]} {start + number}",) if number % 3 == 0 else ()
            yield Article(self.title(start + number), " ".join(words), aliases, tuple(links))


def build(path: Path, articles: int) -> dict[str, Any]:
    """Build; also measure what it takes to make up the articles alone."""
    source = Synthetic(articles)
    sample = min(articles, 10_000)
    started = time.perf_counter()
    sizes = []
    for record in Synthetic(sample):
        if isinstance(record, Article):
            sizes.append(len(record.text.encode()))
    making = (time.perf_counter() - started) / sample * articles
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.perf_counter()
    report = build_articles(path, source, progress=sys.stderr.isatty())
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": time.perf_counter() - started,
        "making": making,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "text": sum(sizes) / len(sizes) * articles,
        "peak": after.ru_maxrss * 1024,
        "bytes": path.stat().st_size,
        "names": report.names,
    }


def random_titles(source: Synthetic, chance: random.Random, count: int) -> list[str]:
    return [source.title(chance.randrange(source.articles)) for _ in range(count)]


def look_up(path: Path, articles: int, *, cold: bool, count: int) -> dict[str, Any]:
    """Time single look-ups of articles at random, in microseconds."""
    source = Synthetic(articles)
    chance = random.Random(1)
    titles = random_titles(source, chance, count)
    if cold:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with ArticleStore(path) as store:
        if not cold:
            for title in titles:
                store.get(title)
        gets = _timed(lambda title: store.get(title), titles)
        keys = []
        for _ in range(count // 20):
            keys.append(list(map(name_key, random_titles(source, chance, _QUESTION))))
        names = _timed(lambda some: store.names(some), keys)
    return {
        "get": gets,
        "names": names,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _timed(call: Callable[[Any], object], values: list[Any]) -> tuple[float, float]:
    seconds = []
    for value in values:
        started = time.perf_counter()
        found = call(value)
        seconds.append(time.perf_counter() - started)
        if not found:
            raise SystemExit(f"{value!r} is not found")
    return float(np.percentile(seconds, 50) * 1e6), float(np.percentile(seconds, 99) * 1e6)


def table(
    articles: int, built: dict[str, Any], warm: dict[str, Any], cold: dict[str, Any] | None
) -> str:
    own = built["seconds"] - built["making"]
    rows = [
        [
            "text read",
            f"{built['text'] / 1e6:,.0f} MB, {built['text'] / articles:,.0f} bytes/article",
        ],
        [
            "build",
            f"{built['seconds']:,.0f} s, of which {built['making']:,.0f} s to make the articles up",
        ],
        [
            "build without making up",
            f"{built['text'] / 1e6 / own:,.1f} MB/s, {articles / own:,.0f} articles/s",
        ],
        ["processor time of the build", f"{built['cpu']:,.0f} s"],
        ["peak memory of the build", f"{built['peak'] / 1e6:,.0f} MB"],
        [
            "store",
            f"{built['bytes'] / 1e6:,.0f} MB, {built['bytes'] / articles:,.0f} bytes/article",
        ],
        ["names", f"{built['names']:,}"],
        ["`get`, warm, p50 / p99", _micro(warm["get"])],
        [f"`names` of {_QUESTION} keys, warm, p50 / p99", _micro(warm["names"])],
    ]
    if cold:
        rows += [
            ["`get`, not in the machine's cache, p50 / p99", _micro(cold["get"])],
            [f"`names` of {_QUESTION} keys after that, p50 / p99", _micro(cold["names"])],
        ]
    rows.append(["peak memory of a reader", f"{warm['peak'] / 1e6:,.0f} MB"])
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    heading = f"{articles:,} made-up articles on {machine}."
    return f"{heading}\n\n{markdown(['', 'measured'], rows)}"


def _micro(values: tuple[float, float]) -> str:
    cells = []
    for value in values:
        cell = f"{value:,.0f} µs"
        if value >= 10_000:
            cell = f"{value / 1000:,.1f} ms"
        cells.append(cell)
    return " / ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--articles", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--small", action="store_true", help="2,000 articles, to see that it runs")
    parser.add_argument("--folder", type=Path, help="where to build (default: a temporary folder)")
    add_into(parser)
    args = parser.parse_args()
    articles = 2000 if args.small else args.articles
    folder = Path(tempfile.mkdtemp(dir=args.folder))
    path = folder / "articles.sqlite"
    context = multiprocessing.get_context("spawn")

    def apart(
        call: Callable[..., dict[str, Any]], *arguments: Any, **options: Any
    ) -> dict[str, Any]:
        with ProcessPoolExecutor(1, mp_context=context) as executor:
            return executor.submit(call, *arguments, **options).result()

    try:
        built = apart(build, path, articles)
        count = min(20_000, articles)
        cold = (
            apart(look_up, path, articles, cold=True, count=count // 10)
            if hasattr(os, "posix_fadvise")
            else None
        )
        warm = apart(look_up, path, articles, cold=False, count=count)
        text = table(articles, built, warm, cold)
    finally:
        shutil.rmtree(folder)
    print(text)
    if args.into:
        fill(args.into, "articles", text)


if __name__ == "__main__":
    main()
