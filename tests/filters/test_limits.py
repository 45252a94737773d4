"""Filters and metadata that are nested too deep, or too large, are refused with one error, whatever
way they come in.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from factoid import Document, UnitStore
from factoid.entities import Article
from factoid.entities.articles.build import build_articles
from factoid.errors import FactoidError, InvalidInputError, StoreFormatError
from factoid.filters import CONDITIONS, All, AnyOf, Comparison, Not, Operator, matches, parse_filter
from factoid.metadata import plain_metadata
from factoid.testing import HashEncoder
from factoid.units import CHARACTERS, DEPTH, VALUES, Granularity, Unit
from tests.filters.stored import passing
from tests.store.content import change

LEVELS = [DEPTH + 1, 400, 900, 990, 5000, 100_000]


def nested(levels, wrap=lambda inner: {"a": inner}, start=1):
    value = start
    for _ in range(levels):
        value = wrap(value)
    return value


FILTERS = {
    "$not": lambda levels: nested(levels, lambda inner: {"$not": inner}, {"a": 1}),
    "$not on a key": lambda levels: {
        "a": nested(levels, lambda inner: {"$not": inner}, {"$eq": 1})
    },
    "$and": lambda levels: nested(levels, lambda inner: {"$and": [inner, {"b": 1}]}, {"a": 1}),
    "$or": lambda levels: nested(levels, lambda inner: {"$or": [{"b": 1}, inner]}, {"a": 1}),
    "Not": lambda levels: nested(levels, Not, Comparison("a", Operator.EQ, 1)),
    "All": lambda levels: nested(levels, lambda inner: All((inner,)), AnyOf(())),
    "a tree in a dict": lambda levels: {
        "$and": [nested(levels, lambda inner: AnyOf((inner,)), AnyOf(()))]
    },
    "an operand": lambda levels: {"a": nested(levels)},
    "a list": lambda levels: {"a": {"$in": [nested(levels, lambda inner: [inner])]}},
}


@pytest.fixture(scope="module")
def store():
    pytest.importorskip("faiss")
    with UnitStore(encoder=HashEncoder(), granularities=["sentence"]) as store:
        store.add_documents([Document("The olm is blind.", id="olm", metadata={"a": 1})])
        yield store


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("levels", LEVELS)
def test_filters_that_are_nested_too_deep(store, kind, levels):
    condition = FILTERS[kind](levels)
    for call in (
        lambda: parse_filter(condition),
        lambda: store.search("olm", filter=condition),
        lambda: store.ids(condition),
        lambda: store.get(["x"], filter=condition),
        lambda: store.delete(filter=condition),
        lambda: store.update_metadata({"x": 1}, filter=condition),
    ):
        with pytest.raises(InvalidInputError, match=f"{DEPTH} levels deep"):
            call()


@pytest.mark.parametrize("kind", FILTERS)
def test_the_deepest_filters_are_answered(store, kind):
    tree = parse_filter(FILTERS[kind](DEPTH - 2))
    store.search("olm", filter=tree)
    assert passing([{"a": 1}, {}], tree) == [
        row for row, metadata in enumerate([{"a": 1}, {}]) if matches(tree, metadata)
    ]


def test_a_filter_in_itself():
    circle: dict = {}
    circle["$and"] = [circle, circle]
    with pytest.raises(InvalidInputError, match="levels deep"):
        parse_filter(circle)
    wide = {"a": 1}
    for _ in range(60):
        wide = {"$or": [wide, wide]}  # 2 ** 60 conditions, in few dicts
    with pytest.raises(InvalidInputError, match=f"at most {CONDITIONS:,} conditions"):
        parse_filter(wide)
    tree = AnyOf(())
    for _ in range(60):
        tree = All((tree, tree))
    with pytest.raises(InvalidInputError, match=f"at most {CONDITIONS:,} conditions"):
        parse_filter(tree)


@pytest.mark.parametrize(
    "many",
    [
        lambda count: {"$or": [{"a": value} for value in range(count)]},
        lambda count: {"$and": [{"a": {"$gt": -value}} for value in range(count)]},
        lambda count: {f"a{value}": 1 for value in range(count)},
        lambda count: {"a": {"$any": [str(value) for value in range(count)]}},
        lambda count: All(tuple(Comparison("a", Operator.LT, value) for value in range(count))),
    ],
)
def test_the_number_of_conditions(many):
    parse_filter(many(CONDITIONS - 1))
    with pytest.raises(InvalidInputError, match=f"at most {CONDITIONS:,} conditions"):
        parse_filter(many(CONDITIONS + 1))
    for count in (2, 999, 1001, 2000, 3001):  # bounds on one key are joined in one statement
        tree = parse_filter(many(count))
        rows = [{"a": value} for value in (-5000, -3, 1, 5, "7")]
        assert passing(rows, tree) == [i for i, row in enumerate(rows) if matches(tree, row)]


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("wrap", [lambda inner: {"a": inner}, lambda inner: [inner]])
def test_metadata_that_are_nested_too_deep(store, tmp_path, levels, wrap):
    metadata = {"a": nested(levels, wrap)}
    unit = Unit("u", "Text.", Granularity.SENTENCE, "d", "d", 0, 5, metadata=metadata)
    article = Article("Olm", "It is blind.", metadata=metadata)
    for call in (
        lambda: Document("Text.", metadata=metadata),
        lambda: Document("Text.", id="d", metadata=metadata),
        lambda: store.add([unit]),
        lambda: store.update_metadata(metadata, ids=["olm"]),
        lambda: plain_metadata(metadata),
        lambda: build_articles(tmp_path / "articles", [article]),
    ):
        with pytest.raises(InvalidInputError, match=f"nested more than {DEPTH} levels deep"):
            call()
    if levels <= 900:  # json.dumps itself recurses
        file = tmp_path / "units.jsonl"
        file.write_text(json.dumps({"id": "u", "text": "T", "granularity": "sentence", "document_id": "d", "parent_id": "d",
                                    "start": 0, "end": 1, "metadata": metadata}))  # fmt: skip
        with pytest.raises(FactoidError, match="levels deep"):
            store.import_from(file)
    assert store.ids({"a": {"$exists": True}}) == store.ids()


def test_metadata_of_the_deepest_kind_come_back(store):
    metadata = {"deep": nested(DEPTH - 1)}
    store.add_documents([Document("The emu is tall.", id="emu", metadata=metadata)])
    assert store.documents(["emu"])[0].metadata == metadata
    assert {unit.document_id for unit in store.get(store.ids(metadata))} == {"emu"}
    path = ".".join(["deep", *"a" * (DEPTH - 1)])
    assert {unit.document_id for unit in store.get(store.ids({path: 1}))} == {"emu"}
    assert {unit.document_id for unit in store.get(store.ids(lambda each: "deep" in each))} == {
        "emu"
    }
    store.delete(["emu"])


def test_metadata_that_are_too_large():
    shared = ["lol"] * 10
    for _ in range(12):
        shared = [shared] * 10  # 10 ** 13 values in little memory
    with pytest.raises(
        InvalidInputError, match=f"more than {VALUES:,} values or {CHARACTERS:,} characters"
    ):
        Document("Text.", metadata={"a": shared})
    with pytest.raises(InvalidInputError, match="more than"):
        plain_metadata({"a": ["x" * 1_000_000] * 101})
    with pytest.raises(InvalidInputError, match="integer of 16,610 bits"):
        Document("Text.", metadata={"a": 10**5000})
    with pytest.raises(InvalidInputError, match="integer of 16,610 bits"):
        parse_filter({"a": {"$gt": 10**5000}})


@pytest.mark.parametrize("levels", [DEPTH + 1, 900, 5000])
def test_a_strangers_store_with_metadata_that_nobody_could_have_written(tmp_path, levels):
    pytest.importorskip("faiss")
    with UnitStore(tmp_path / "s", encoder=HashEncoder(), granularities=["sentence"]) as store:
        store.add_documents([Document("The olm is blind.", id="olm", metadata={"a": 1})])
    text = '{"a": ' + "[" * levels + "]" * levels + "}"
    change(tmp_path / "s", ("UPDATE metadata SET json = ?", [text]))
    with UnitStore(tmp_path / "s", encoder=HashEncoder(), granularities=["sentence"]) as store:
        for call in (
            lambda: store.search("olm"),
            lambda: store.search("olm", filter=lambda _: True),
            lambda: store.search("olm", filter={"a": {"$contains": []}}),
            lambda: store.get(store.ids()),
        ):
            with pytest.raises(FactoidError):
                call()
        with pytest.raises(StoreFormatError, match="damaged"):
            store.get(store.ids())
        assert store.verify() != []


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        *[({"acl": {order: value}}, "takes a string, a number, or a date or time, got ")
          for order in ("$gt", "$gte", "$lt", "$lte") for value in ([], ["a"], {}, {"a": 1}, None, (), {1})],
        *[({"acl": {name: value}}, "takes a list") for name in ("$in", "$nin", "$any", "$all")
          for value in ("abc", 1, None, {}, True)],
        *[({"acl": {"$exists": value}}, "takes True or False") for value in (0, 1, "no", None, [], {})],
    ],
)  # fmt: skip
def test_operands_that_an_operator_does_not_take(condition, message):
    with pytest.raises(InvalidInputError, match=message):
        parse_filter(condition)


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        (Operator.GT, [1]), (Operator.LTE, None), (Operator.IN, 5), (Operator.NIN, None), (Operator.ANY, {}), (Operator.ALL, 1.5),
        (Operator.TEXT_MATCH, 5), (Operator.TEXT_MATCH_INSENSITIVE, ["a"]), (Operator.EXISTS, "yes"), (Operator.EXISTS, 0),
    ],
)  # fmt: skip
def test_operands_of_trees(operator, value):
    with pytest.raises(InvalidInputError, match=f"{operator} on 'acl' takes "):
        Comparison("acl", operator, value)


def test_operands_of_numpy_and_dates_are_taken():
    assert parse_filter({"a": {"$gt": np.float32(0.5)}}) == Comparison("a", Operator.GT, 0.5)
    assert parse_filter({"a": {"$exists": True}}) == Comparison("a", Operator.EXISTS, True)
