"""Changes of a finished store: articles added, replaced or deleted, in a copy that takes its place."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from factoid.entities.articles.article import Article
from factoid.entities.articles.build import builder_lock
from factoid.entities.articles.file import check_format, count_names, read_meta, write_meta
from factoid.entities.articles.name_index import NameForm, part_names, rank_names, spelled_names
from factoid.entities.articles.names import NameKind, clean_name
from factoid.entities.articles.staging import compress, metadata_json
from factoid.errors import InvalidInputError, StoreError
from factoid.files.atomic import move_into_place, part_beside, sync_file
from factoid.files.sqlite import committing, connect, explain
from factoid.words import cut_words


def change_articles(path: Path, articles: Sequence[Article], deleted: Collection[str]) -> None:
    """Add, replace and delete articles by `document_id`, or do nothing. Redirects and links to a replaced article stay."""
    with builder_lock(path, wait=True):
        try:
            with part_beside(path) as copy:
                shutil.copyfile(path, copy)
                with closing(connect(copy)) as connection:
                    check_format(connection, path)
                    connection.execute("PRAGMA journal_mode = MEMORY")  # a copy that fails is thrown away
                    with committing(connection):
                        _change(connection, articles, deleted)
                sync_file(copy)
                move_into_place(copy, path)
        except (sqlite3.Error, OSError) as error:
            reason = explain(error) if isinstance(error, sqlite3.Error) else error
            raise StoreError(f"{path} cannot be changed: {reason}") from error


def _change(connection: sqlite3.Connection, articles: Sequence[Article], deleted: Collection[str]) -> None:
    meta = read_meta(connection)
    rows = connection.execute("SELECT document_id, id FROM article WHERE document_id IS NOT NULL")
    numbers: dict[str, int] = dict(rows)
    if unknown := [document_id for document_id in deleted if document_id not in numbers]:
        raise InvalidInputError(f"no article has the id {unknown[0]!r}")
    changed = {*deleted, *(article.document_id for article in articles)}
    _check(connection, articles, changed, unique=meta["duplicates"] != "keep")
    replaced = {numbers[article.document_id] for article in articles if article.document_id in numbers}
    forms = _delete_articles(connection, replaced | {numbers[document_id] for document_id in deleted}, replaced)
    for article in articles:
        title, text = clean_name(article.title), cut_words(article.text, meta["words"])
        row = (numbers.get(article.document_id), title, metadata_json(article), article.document_id)
        connection.execute("INSERT INTO article VALUES (?, ?, ?, ?)", row)
        (number,) = connection.execute("SELECT last_insert_rowid()").fetchone()
        connection.execute("INSERT INTO body VALUES (?, ?)", [number, compress(text)])
        names = [(title, NameKind.TITLE), *((alias, NameKind.ALIAS) for alias in map(clean_name, article.aliases))]
        for name, kind in names:
            _group(forms, spelled_names(number, name, kind))
        _group(forms, part_names(number, title, text))
    _write_names(connection, forms)
    (count,) = connection.execute("SELECT COUNT(*) FROM article").fetchone()
    write_meta(connection, {"articles": count, "names": count_names(connection)})


def _check(
    connection: sqlite3.Connection, articles: Sequence[Article], changed: Collection[str], *, unique: bool
) -> None:
    """Refuse articles that lack something, and with `unique` those whose title one has that is not changed."""
    rows = connection.execute("SELECT title, document_id FROM article") if unique else ()
    holders = {title: document_id for title, document_id in rows if document_id not in changed}
    ids: set[str] = set()
    for article in articles:
        title, document_id = clean_name(article.title), article.document_id
        parts = {"title": title, "document_id": document_id, "text": article.text.strip()}
        if missing := next((name for name, value in parts.items() if not value), None):
            needs = "an article needs a title, a document_id and a text"
            raise InvalidInputError(f"{needs}: {article.title!r} has no {missing}")
        if document_id in ids:
            raise InvalidInputError(f"the id {document_id!r} was given twice")
        if unique and (holder := holders.setdefault(title, document_id)) != document_id:
            raise InvalidInputError(
                f"the title {title!r} is that of the article with the id {holder!r}: give that id to replace it, or "
                'build the store with duplicates="keep" to have both'
            )
        ids.add(document_id)


def _delete_articles(
    connection: sqlite3.Connection, deleted: Collection[int], replaced: Collection[int]
) -> dict[str, list[NameForm]]:
    """Delete articles. Return all keys of their names, each with the forms that stay for an article that comes back."""
    forms: dict[str, list[NameForm]] = {}
    numbers, listed = [json.dumps([*deleted])], "(SELECT value FROM json_each(?))"
    sql = f"SELECT key, article, kind, form, count FROM name WHERE article IN {listed}"  # noqa: S608
    for key, article, kind, form, count in connection.execute(sql, numbers).fetchall():
        forms.setdefault(key, [])
        if article in replaced and kind == NameKind.REDIRECT:
            _group(forms, spelled_names(article, form or key, NameKind.REDIRECT))
        elif article in replaced and kind == NameKind.ANCHOR:
            _group(forms, [(key, article, kind, form or key, count)])
    for table, column in (("name", "article"), ("body", "id"), ("article", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} IN {listed}", numbers)  # noqa: S608
    return forms


def _group(forms: dict[str, list[NameForm]], names: Iterable[NameForm]) -> None:
    for name in names:
        if name[0]:
            forms.setdefault(name[0], []).append(name)


def _write_names(connection: sqlite3.Connection, forms: dict[str, list[NameForm]]) -> None:
    """Rank the names of each key anew, with its new forms."""
    for key, rows in forms.items():
        others = connection.execute("SELECT kind, count, article, form FROM name WHERE key = ?", [key]).fetchall()
        connection.execute("DELETE FROM name WHERE key = ?", [key])
        connection.executemany(
            "INSERT INTO name (key, rank, kind, count, article, form) VALUES (?, ?, ?, ?, ?, ?)",
            [(key, rank, *name) for rank, name in enumerate(rank_names(key, rows, others))],
        )
