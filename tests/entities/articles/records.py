"""Records that a seed makes, and what a store holds as plain rows."""

from __future__ import annotations

import json
import random
import sqlite3
import zlib
from contextlib import closing

from factoid.entities import Article, Redirect

SYLLABLES = "ka lo mi ne ru ta vo xi sé ßu Öl".split()


def title_of(number):
    chance = random.Random(number)
    word = "".join(chance.choice(SYLLABLES) for _ in range(4)).capitalize()
    return f"{word} {number}" + (" (place)" if number % 5 == 0 else "")


def seeded(seed, articles):
    """Return the records of a source: articles with aliases and links, redirects in chains, circles
    and to nothing.
    """
    chance = random.Random(seed)
    records = []
    for number in range(articles):
        titles = [title_of(chance.randrange(articles)) for _ in range(4)]
        links = tuple((chance.choice([to, to.lower(), "it"]), to) for to in titles)
        text = " ".join(chance.choice(SYLLABLES) for _ in range(chance.randrange(60)))
        aliases = (f"Alias {number % 7}",) if number % 3 == 0 else ()
        metadata = {"number": number} if number % 4 else {}
        records.append(Article(title_of(number), text, aliases, links, metadata))
        records.append(
            Redirect(f"Way {number}", title_of(number) if number % 6 else f"Way {number + 1}")
        )
        if number % 50 == 0:
            records += [
                Redirect(f"Round {number}", f"Round {number} back"),
                Redirect(f"Round {number} back", f"Round {number}"),
            ]
            records.append(Redirect(f"Nowhere {number}", "Nothing at all"))
            records.append(Article(title_of(number), f"second text {number}"))
    return records


def contents(path):
    """Return what a store's file holds, without the numbers of the articles."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute(
            "SELECT key, kind, title, form, count FROM name JOIN article ON id = article"
        ).fetchall()
        rows = connection.execute(
            "SELECT title, aliases, metadata, document_id, text FROM article JOIN body USING (id)"
        )
        articles = [(*row, zlib.decompress(text).decode()) for *row, text in rows]
        meta = {
            key: json.loads(value)
            for key, value in connection.execute("SELECT key, value FROM meta")
        }
    return sorted(names), sorted(articles, key=repr), meta


def leftovers(path):
    """Return the files beside a store that are named after it, but for its lock."""
    files = {file.name for file in path.parent.iterdir() if path.name in file.name}
    return sorted(files - {path.name, f"{path.name}.lock"})
