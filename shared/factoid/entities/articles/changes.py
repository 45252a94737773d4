"""Changes to a finished store: articles added, replaced or deleted, in a copy that takes its place."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

from factoid.entities.articles.article import Article
from factoid.entities.articles.build import MOST_IN_PARTS, builder_lock
from factoid.entities.articles.file import ADD_NAMES, NAME_FORMS, check_format, count_names, read_meta, write_meta
from factoid.entities.articles.names import NameForm, NameKind, clean_name, part_names, spelled_names
from factoid.entities.articles.staging import compress, metadata_json
from factoid.errors import InvalidInputError, StoreError
from factoid.files.atomic import move_into_place, part_beside
from factoid.files.sqlite import committing, connect, explain
from factoid.words import cut_words


def change_articles(path: Path, articles: Sequence[Article], deleted: Collection[str]) -> None:
    """Add, replace and delete articles by `document_id`, all or nothing. Redirects and links to a replaced article stay."""
    with builder_lock(path, wait=True):
        check_format(path)
        try:
            with part_beside(path) as copy:
                shutil.copyfile(path, copy)
                with closing(connect(copy)) as connection:
                    connection.execute("PRAGMA journal_mode = MEMORY")  # a copy that fails is thrown away
                    with committing(connection):
                        _change(connection, articles, deleted)
                move_into_place(copy, path)
        except (sqlite3.Error, OSError) as error:
            reason = explain(error) if isinstance(error, sqlite3.Error) else error
            raise StoreError(f"{path} cannot be changed: {reason}") from error


def _change(connection: sqlite3.Connection, articles: Sequence[Article], deleted: Collection[str]) -> None:
    meta = read_meta(connection)
    numbers: dict[str, int] = dict(connection.execute("SELECT document_id, id FROM article"))
    ids = [article.document_id for article in articles]
    if unknown := [document_id for document_id in deleted if document_id not in numbers]:
        raise InvalidInputError(f"no article has the id {unknown[0]!r}")
    if len({*ids}) < len(ids):
        raise InvalidInputError(f"the id {max(ids, key=ids.count)!r} was given twice")
    replaced = [numbers[document_id] for document_id in ids if document_id in numbers]
    forms = _delete_articles(connection, [*replaced, *map(numbers.__getitem__, deleted)], replaced)
    for article in articles:
        title, text = clean_name(article.title), cut_words(article.text, meta["words"])
        if not (title and article.document_id and text.strip()):
            raise InvalidInputError(f"an article needs a title, a document_id and a text, got {article!r:.200}")
        row = (numbers.get(article.document_id), title, metadata_json(article), article.document_id)
        number = int(connection.execute("INSERT INTO article VALUES (?, ?, ?, ?)", row).lastrowid or 0)
        connection.execute("INSERT INTO body VALUES (?, ?)", [number, compress(text)])
        forms += spelled_names(number, title, NameKind.TITLE)
        if meta["articles"] <= MOST_IN_PARTS:
            forms += part_names(number, title, text)
        for alias in map(clean_name, article.aliases):
            forms += spelled_names(number, alias, NameKind.ALIAS)
    if meta["duplicates"] != "keep":
        _check_titles(connection)
    connection.execute(f"CREATE TEMP TABLE {NAME_FORMS}")
    connection.executemany("INSERT INTO name_form VALUES (?, ?, ?, ?, ?)", forms)
    connection.execute(ADD_NAMES)
    (count,) = connection.execute("SELECT COUNT(*) FROM article").fetchone()
    write_meta(connection, {"articles": count, "names": count_names(connection)})


def _delete_articles(connection: sqlite3.Connection, gone: Sequence[int], replaced: Sequence[int]) -> list[NameForm]:
    """Delete articles; return the names that replaced ones keep: those of redirects and links."""
    listed = "(SELECT value FROM json_each(?))"
    sql = f"SELECT key, kind, article, form, count FROM name WHERE article IN {listed} AND (kind = ? OR count > 0)"  # noqa: S608
    forms: list[NameForm] = []
    for key, kind, article, form, count in connection.execute(sql, [json.dumps(replaced), NameKind.REDIRECT]):
        if kind == NameKind.REDIRECT:
            forms += spelled_names(article, form, NameKind.REDIRECT)
        if count:
            forms.append((key, NameKind.ANCHOR, article, form, count))
    for table, column in (("name", "article"), ("body", "id"), ("article", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} IN {listed}", [json.dumps(gone)])  # noqa: S608
    return forms


def _check_titles(connection: sqlite3.Connection) -> None:
    """Refuse several articles with the same title."""
    ids_of_each = "SELECT title, GROUP_CONCAT(COALESCE(document_id, 'none'), ', ') FROM article GROUP BY title"
    for title, ids in connection.execute(f"{ids_of_each} HAVING COUNT(*) > 1 LIMIT 1"):
        raise InvalidInputError(
            f"the title {title!r} would belong to several articles, with the ids {ids}: give the id of the one to replace, "
            'or build the store with duplicates="keep" to keep all'
        )
