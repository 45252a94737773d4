"""A build that is killed goes on, and ends with exactly the store of an undisturbed one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from factoid.entities.articles import Article, ArticleStore, build_articles
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from tests.entities.articles.records import Listed, contents, leftovers
from tests.faults.worker import ENVIRONMENT, ROOT

SEED, ARTICLES = 5, 400


def start(path, *moment):
    command = [sys.executable, "-m", "tests.entities.articles.builder", path, SEED, ARTICLES, *moment]
    process = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        cwd=ROOT,
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def ended(process):
    _, said = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode == 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "a"
    started = time.monotonic()
    assert ended(start(path))
    return contents(path), time.monotonic() - started


def test_killed_at_random_moments(tmp_path, undisturbed):
    expected, seconds = undisturbed
    chance = random.Random(1)
    path = tmp_path / "a"
    kills = 0
    while True:
        process = start(path)
        if kills < 12:
            time.sleep(chance.random() ** 2 * seconds / 3)
            process.kill()
        if ended(process):
            break
        kills += 1
    assert kills  # how many depends on how busy the machine is; each moment has a test below
    assert contents(path) == expected
    assert leftovers(path) == []


# Of 26 transactions or so: the first makes the tables, the last ones are stages of the finish.
@pytest.mark.parametrize(
    "moment", [*(("commit", n) for n in (1, 2, 9, 21, 22, 23, 24, 25, 26)), ("marked",), ("moved",)]
)
def test_killed_at_each_kind_of_moment(tmp_path, undisturbed, moment):
    path = tmp_path / "a"
    assert not ended(start(path, *moment))
    assert path.exists() == (moment == ("moved",))
    assert ended(start(path))
    assert contents(path) == undisturbed[0]
    assert leftovers(path) == []


class Broken(Listed):
    """Fails after some records, and notes from where on it was read."""

    def __init__(self, records, end):
        super().__init__(records)
        self.end, self.skipped = end, None

    def read(self, skip=0):
        self.skipped = skip
        for number, record in enumerate(self.records[skip:], start=skip):
            if number == self.end:
                raise KeyboardInterrupt
            yield record


RECORDS = [Article(f"T {n}", f"text {n}") for n in range(50)]


@pytest.fixture
def unfinished(tmp_path, monkeypatch):
    """Where a build was interrupted after 20 records."""
    monkeypatch.setattr("factoid.entities.articles.batch._MOST_RECORDS", 10)
    path = tmp_path / "a"
    with pytest.raises(KeyboardInterrupt):
        build_articles(path, Broken(RECORDS, 25))
    assert leftovers(path) == ["a.building", "a.spill"]
    return path


def test_goes_on_after_the_last_batch(unfinished):
    source = Broken(RECORDS, None)
    assert build_articles(unfinished, source).articles == 50
    assert source.skipped == 20


def test_starts_over(unfinished):
    source = Broken(RECORDS, None)
    assert build_articles(unfinished, source, resume=False).articles == 50
    assert source.skipped == 0


def test_a_source_without_a_name_starts_over(tmp_path, unfinished):
    source = Broken(RECORDS, None)
    source.name = ""
    assert build_articles(unfinished, source).articles == 50
    assert source.skipped == 0


def test_other_sources_or_options_are_told(unfinished):
    with pytest.raises(InvalidInputError, match=r"begun with Listed\. Now it is Other\..*resume=False"):
        build_articles(unfinished, Listed(RECORDS, "Other"))
    with pytest.raises(InvalidInputError, match="begun with 1000 words of an article, now 7"):
        build_articles(unfinished, Listed(RECORDS), words=7)
    assert build_articles(unfinished, Listed(RECORDS)).articles == 50


def test_where_nothing_was_read_nothing_is_gone_on_with(tmp_path):
    path = tmp_path / "a"
    with pytest.raises(InvalidInputError, match="no article to store in First"):
        build_articles(path, Listed([Article("A", " ")], "First"))
    with pytest.raises(InvalidInputError, match="record 2 of Second"):
        build_articles(path, Listed([Article("A", "x"), 3], "Second"))
    assert build_articles(path, Listed(RECORDS, "Third"), words=7).articles == 50
    assert leftovers(path) == []


@pytest.mark.parametrize("lost", ["a.building", "a.spill"])
def test_half_of_an_unfinished_build_is_begun_anew(unfinished, lost):
    unfinished.with_name(lost).unlink()
    source = Broken(RECORDS, None)
    assert build_articles(unfinished, source).articles == 50
    assert source.skipped == 0


def test_a_damaged_unfinished_build_is_told(unfinished):
    spill = unfinished.with_name("a.spill")
    spill.write_bytes(b"x" * spill.stat().st_size)
    with pytest.raises((StoreError, StoreFormatError), match=r"a cannot be built: file is not a database|damaged"):
        build_articles(unfinished, Listed(RECORDS))
    assert build_articles(unfinished, Listed(RECORDS), resume=False).articles == 50


def test_an_unfinished_store_is_not_read(unfinished):
    with pytest.raises(StoreFormatError, match="is not finished"):
        ArticleStore(unfinished.with_name("a.building"))


def test_the_earlier_store_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a"
    build_articles(path, Listed([Article("Old", "x")]))
    with pytest.raises(KeyboardInterrupt):
        build_articles(path, Broken(RECORDS, 25))
    with ArticleStore(path) as store:
        assert list(store.titles()) == ["Old"]


def test_one_builder_at_a_time(tmp_path):
    path = tmp_path / "a"
    reading, go_on = threading.Event(), threading.Event()

    class Slow(Listed):
        def read(self, skip=0):
            reading.set()
            assert go_on.wait(30)
            return super().read(skip)

    first = threading.Thread(target=build_articles, args=(path, Slow(RECORDS)))
    first.start()
    try:
        assert reading.wait(30)
        with pytest.raises(StoreError, match="is being built by another process"):
            build_articles(path, Listed(RECORDS))
    finally:
        go_on.set()
        first.join()
    with ArticleStore(path) as store:
        assert len(store) == 50
    assert leftovers(path) == []


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(StoreError, match="cannot be built there: No such file or directory"):
        build_articles(tmp_path / "none" / "a", Listed(RECORDS))
