"""A build that is killed goes on, and ends with exactly the store of an undisturbed one."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from factoid.entities.articles import Article, ArticleStore, build, build_articles, staging
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from tests.entities.articles.records import Listed, contents, leftovers, seeded
from tests.faults.worker import ENVIRONMENT, ROOT

SEED, ARTICLES = 5, 400


def is_built(path, *moment):
    """Build in another process, which kills itself at a moment; tell whether it came to its end."""
    command = [sys.executable, "-m", "tests.entities.articles.builder", *map(str, [path, SEED, ARTICLES, *moment])]
    process = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=ROOT, timeout=60)
    assert process.returncode in (0, -signal.SIGKILL), process.stderr
    return process.returncode == 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "a"
    assert is_built(path)
    return contents(path)


# Of 23 transactions: the first makes the tables, the last writes the store.
@pytest.mark.slow
@pytest.mark.parametrize("moment", [*(("commit", n) for n in (1, 2, 22, 23)), ("written",), ("moved",)])
def test_killed_at_each_kind_of_moment(path, undisturbed, moment):
    assert not is_built(path, *moment)
    assert path.exists() == (moment == ("moved",))
    assert is_built(path)
    assert contents(path) == undisturbed
    assert leftovers(path) == []


class Broken(Listed):
    """Fails after some records, and notes from where on it was read."""

    def __init__(self, records, end=None):
        super().__init__(records)
        self.end, self.skipped = end, None

    def read(self, skip=0):
        self.skipped = skip
        yield from self.records[skip : self.end]
        if self.end:
            raise KeyboardInterrupt


RECORDS = [Article(f"T {n}", f"text {n}") for n in range(50)]


@pytest.fixture
def unfinished(path, monkeypatch):
    """Where a build in the place of an earlier store was interrupted after 20 records."""
    monkeypatch.setattr(staging, "_MOST_RECORDS", 10)
    build_articles(path, Listed([Article("Old", "x")]))
    with pytest.raises(KeyboardInterrupt):
        build_articles(path, Broken(RECORDS, 25))
    assert leftovers(path) == ["a.building"]
    with ArticleStore(path) as store:
        assert list(store.titles()) == ["Old"]
    return path


@pytest.mark.parametrize(("name", "resume", "skipped"), [("Listed", True, 20), ("Listed", False, 0), ("", True, 0)])
def test_goes_on_after_the_last_batch_or_starts_over(unfinished, name, resume, skipped):
    source = Broken(RECORDS)
    source.name = name
    assert build_articles(unfinished, source, resume=resume).articles == 50
    assert source.skipped == skipped


def test_other_sources_or_options_are_told(unfinished):
    with pytest.raises(InvalidInputError, match=r"words of Listed\. Now it is 1000 of Other\..*resume=False"):
        build_articles(unfinished, Listed(RECORDS, "Other"))
    with pytest.raises(InvalidInputError, match=r"begun with 1000 words of Listed\. Now it is 7"):
        build_articles(unfinished, Listed(RECORDS), words=7)
    assert build_articles(unfinished, Listed(RECORDS)).articles == 50


def test_where_nothing_was_read_nothing_is_gone_on_with(path):
    with pytest.raises(InvalidInputError, match="no article to store in First"):
        build_articles(path, Listed([Article("A", " ")], "First"))
    with pytest.raises(InvalidInputError, match="record 2 of Second"):
        build_articles(path, Listed([Article("A", "x"), Article("", "x")], "Second"))
    assert build_articles(path, Listed(RECORDS, "Third"), words=7).articles == 50
    assert leftovers(path) == []


def test_a_damaged_unfinished_build_is_told(unfinished):
    building = unfinished.with_name("a.building")
    with pytest.raises(StoreFormatError, match="is not finished"):
        ArticleStore(building)
    building.write_bytes(b"x" * building.stat().st_size)
    with pytest.raises(StoreFormatError, match=r"a\.building is not an unfinished .* Move or remove it"):
        build_articles(unfinished, Listed(RECORDS))
    building.unlink()
    assert build_articles(unfinished, Listed(RECORDS)).articles == 50


def test_one_builder_at_a_time(path):
    class Beside(Listed):
        def read(self, skip=0):
            with pytest.raises(StoreError, match="is being built by another process"):
                build_articles(path, Listed(RECORDS))
            return super().read(skip)

    assert build_articles(path, Beside(RECORDS)).articles == 50
    assert leftovers(path) == []


def test_a_folder_that_cannot_be_made(path):
    path.touch()
    with pytest.raises(StoreError, match="cannot be built there"):
        build_articles(path / "a", Listed(RECORDS))


@pytest.mark.parametrize(
    ("module", "limit"), [(staging, "PRAGMA max_page_count = 9"), (build, "PRAGMA store.max_page_count = 9")]
)
def test_a_full_disk(path, monkeypatch, module, limit):
    """SQLite takes a limit on the pages of a file as a full disk."""
    tables = "TABLES" if module is build else "_TABLES"
    monkeypatch.setattr(staging, "_MOST_RECORDS", 40)
    with monkeypatch.context() as patch:
        patch.setattr(module, tables, f"{limit};{getattr(module, tables)}")
        with pytest.raises(StoreError, match=r"cannot be built: .*full.* Free some space and run again"):
            build_articles(path, Listed(seeded(SEED, ARTICLES)))
    assert not path.exists()
    assert build_articles(path, Listed(seeded(SEED, ARTICLES))).articles > 300
    assert leftovers(path) == []
