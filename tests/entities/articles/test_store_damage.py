"""Files that are no article store, or a damaged one."""

from __future__ import annotations

import random
import sqlite3
import zlib
from contextlib import closing

import pytest

from factoid.entities.articles import Article, ArticleStore, build_articles, name_key
from factoid.errors import StoreError, StoreFormatError, UnreadableFileError
from tests.entities.articles.records import Listed, seeded


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own"
    build_articles(path, Listed(seeded(9, 500)))
    return path


def test_missing(tmp_path):
    with pytest.raises(UnreadableFileError, match="there is no article store"):
        ArticleStore(tmp_path / "none")
    with pytest.raises(UnreadableFileError, match="there is no article store"):
        ArticleStore(tmp_path)


@pytest.mark.parametrize("content", [b"", b"x" * 5000, b"SQLite format 3\0" + bytes(5000)])
def test_another_file(tmp_path, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(StoreFormatError, match="no article store"):
        ArticleStore(path)


def test_another_programs_database(tmp_path):
    path = tmp_path / "a"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE article (id)")
    with pytest.raises(StoreFormatError, match="is no article store"):
        ArticleStore(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA application_id = {0x0FAC7A27}; PRAGMA user_version = 9")
    with pytest.raises(StoreFormatError, match="of format 9, and this factoid reads format 2"):
        ArticleStore(path)


def read_all(path):
    with ArticleStore(path) as store:
        titles = list(store.titles())
        store.names([name_key(title) for title in titles])
        return [store.get(title) for title in titles]


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_a_file_that_is_cut_short(own, share):
    size = own.stat().st_size
    with own.open("r+b") as file:
        file.truncate(int(size * share))
    with pytest.raises(StoreFormatError, match=r"malformed|damaged|no article store"):
        read_all(own)


@pytest.mark.parametrize("body", [b"", b"no zlib", zlib.compress(b"\xff\xfe"), 7])
def test_a_damaged_body(tmp_path, body):
    path = tmp_path / "a"
    build_articles(path, Listed([Article("Venus", "A planet."), Article("Łódź", "A city.")]))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE body SET text = ? WHERE id = 2", [body])
    with ArticleStore(path) as store:
        with pytest.raises(StoreFormatError, match=r"the article 'Łódź' of .* is damaged"):
            store.get("Łódź")
        assert store.get("Venus").text


def test_bytes_that_are_flipped_give_an_error_or_the_article(own):
    """Never another crash: the file is SQLite's, which checks what it reads, and bodies have a checksum."""
    content = own.read_bytes()
    chance = random.Random(4)
    with ArticleStore(own) as store:
        titles = list(store.titles())[:40]
    for _ in range(60):
        changed = bytearray(content)
        for _ in range(20):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        own.write_bytes(changed)
        try:
            with ArticleStore(own) as store:
                for title in titles:
                    store.get(title)
        except StoreError:
            pass
