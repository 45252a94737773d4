"""Reading an article store: look-ups, several readers, and files that are damaged."""

from __future__ import annotations

import os
import pickle
import random
import sqlite3
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from factoid.entities.articles import Article, ArticleStore, Name, NameKind, Redirect, build_articles, name_key
from factoid.errors import InvalidInputError, StoreError, StoreFormatError, UnreadableFileError
from tests.entities.articles.records import Listed, seeded
from tests.faults.worker import ENVIRONMENT, ROOT

RECORDS = [
    Article("Café de Flore", "A café in Paris.", ("Flore",)),
    Article("Łódź", "A city."),
    Article("Rock 'n' Roll", "Music."),
    Article("ירושלים", "A city."),
    Article("東京", "A city.", ("Tōkyō", "Edo")),
    Article("Mercury (planet)", "A planet."),
    Article("Mercury (element)", "A metal."),
    Article("Venus", "A planet.", ("Evening star",)),
    Article("Hesperus", "A daughter.", ("Evening star",)),
    Redirect("Evening Star", "Hesperus"),
    Redirect("Quicksilver", "Mercury (element)"),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "a b%20?c.sqlite"
    build_articles(path, Listed(RECORDS))
    return path


@pytest.fixture
def store(path):
    with ArticleStore(path) as store:
        yield store


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Café de Flore", "Café de Flore"),
        ("Cafe\u0301_de__Flore ", "Café de Flore"),
        ("CAFÉ DE FLORE", "Café de Flore"),
        ("cafe de flore", None),
        ("łódź", "Łódź"),
        ("Rock ’n’ Roll", "Rock 'n' Roll"),
        ("\u200fירושלים\u200e", "ירושלים"),
        ("東京", "東京"),
        ("TŌKYŌ", "東京"),
        ("Mercury", None),
        ("mercury (Planet)", "Mercury (planet)"),
        ("quicksilver", "Mercury (element)"),
        ("flore", "Café de Flore"),
        ("Evening Star", "Hesperus"),
        ("Evening star", None),
        ("evening STAR", "Hesperus"),  # a redirect goes before aliases
        ("", None),
        ("\u200e", None),
        ("nothing", None),
        ("x" * 100_000, None),
        ("'; DROP TABLE name", None),
        ("\0", None),
    ],
)
def test_look_up(store, name, title):
    article = store.get(name)
    assert (article and article.title) == title
    assert (name in store) == (title is not None)
    assert title is None or store.resolve(name).title == title


def test_names_of_many_keys(store):
    keys = [name_key(record.title) for record in RECORDS if isinstance(record, Article)]
    found = store.names([*keys, *(f"none {n}" for n in range(1000)), "mercury"])
    assert set(found) == {*keys, "mercury"}
    assert {(name.title, name.form, name.kind) for name in found["mercury"]} == {
        ("Mercury (planet)", "Mercury", NameKind.BASE),
        ("Mercury (element)", "Mercury", NameKind.BASE),
    }
    assert found["łódź"] == [Name("Łódź", NameKind.TITLE, 0, 2, "Łódź")]


def test_what_is_no_name(store):
    assert 3 not in store
    assert None not in store


def test_counts(store, path):
    assert len(store) == 9
    assert list(store.titles()) == [record.title for record in RECORDS if isinstance(record, Article)]
    stats = store.stats()
    assert stats.articles == 9
    assert stats.names == {"title": 9, "redirect": 2, "alias": 5, "anchor": 0, "base": 2}
    assert (stats.sources, stats.format, stats.bytes) == (("Listed",), 1, path.stat().st_size)


def test_an_article_that_is_not_there(store):
    with pytest.raises(InvalidInputError, match="has no article 99"):
        store.article(99)


def test_closed(path):
    store = ArticleStore(path)
    titles = store.titles()
    next(titles)
    store.close()
    store.close()
    for ask in (lambda: store.get("Venus"), lambda: store.names(["venus"]), lambda: "Venus" in store):
        with pytest.raises(StoreError, match="is closed"):
            ask()


def test_pickled(store):
    with pickle.loads(pickle.dumps(store)) as other:
        assert other.get("Venus") == store.get("Venus")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "a"
    records = seeded(9, 500)
    build_articles(path, Listed(records))
    expected = {}
    for record in records:
        if isinstance(record, Article) and record.text:
            expected.setdefault(record.title, record.text)
    return path, expected


def read_at_random(store, expected, seed):
    chance = random.Random(seed)
    titles = sorted(expected)
    for _ in range(200):
        title = chance.choice(titles)
        assert store.get(chance.choice([title, title.replace(" ", "_")])).text == expected[title]


def test_eight_threads(large):
    path, expected = large
    with ArticleStore(path) as store, ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(read_at_random, store, expected, seed) for seed in range(8)]:
            done.result()


def test_threads_that_end_leave_no_connection(large):
    path, expected = large
    descriptors = Path("/dev/fd")
    before = len(list(descriptors.iterdir())) if descriptors.is_dir() else 0
    with ArticleStore(path) as store:
        for seed in range(20):
            thread = threading.Thread(target=read_at_random, args=(store, expected, seed))
            thread.start()
            thread.join()
        assert not before or len(list(descriptors.iterdir())) <= before + 2


def test_closing_while_threads_read(large):
    path, expected = large
    store = ArticleStore(path)
    outcomes = []

    def read():
        try:
            while True:
                read_at_random(store, expected, 1)
        except StoreError as error:
            outcomes.append("is closed" in str(error))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    store.close()
    for thread in threads:
        thread.join(30)
    assert outcomes == [True] * 4


READER = """
import sys
from pathlib import Path
from factoid.entities.articles import ArticleStore
from tests.entities.articles.records import seeded
from tests.entities.articles.test_store import read_at_random
from factoid.entities.articles import Article
expected = {}
for record in seeded(9, 500):
    if isinstance(record, Article) and record.text:
        expected.setdefault(record.title, record.text)
with ArticleStore(sys.argv[1]) as store:
    for seed in range(10):
        read_at_random(store, expected, seed)
"""


def test_two_processes(large):
    command = [sys.executable, "-c", READER, str(large[0])]
    processes = [
        subprocess.Popen(command, env=ENVIRONMENT, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for process in processes:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_after_a_fork(large):
    path, expected = large
    with ArticleStore(path) as store:
        read_at_random(store, expected, 0)
        child = os.fork()
        if not child:
            status = 1
            try:
                read_at_random(store, expected, 1)
                status = 0
            finally:
                os._exit(status)
        read_at_random(store, expected, 2)
        assert os.waitpid(child, 0)[1] == 0
        read_at_random(store, expected, 3)


def test_a_file_that_is_replaced_is_read_no_more(tmp_path):
    path = tmp_path / "a"
    build_articles(path, Listed([Article("Old", "old"), Article("Older", "older")]))
    with ArticleStore(path) as store:
        build_articles(path, Listed([Article("New", "new" * 5000)]))
        assert store.get("Old").text == "old"  # the connection that is open still reads what it opened
        taken = store._file._take()
        with pytest.raises(StoreError, match="was replaced since it was opened"):
            store.get("Old")
        store._file._idle.append(taken)


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
    with pytest.raises(StoreFormatError, match="of format 9, and this factoid reads format 1"):
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
    build_articles(path, Listed(RECORDS))
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
