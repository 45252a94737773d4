"""A glossary that changes: single articles added, replaced and deleted, and those of one tenant
only.
"""

from __future__ import annotations

import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from factoid import Document
from factoid.entities import (
    Article,
    ArticleStore,
    EntityRetriever,
    Redirect,
    TitleLinker,
    add_own_articles,
    build_own_articles,
)
from factoid.errors import InvalidInputError
from tests.entities.articles.records import contents, leftovers

TITLES = "Tern 40|Heron (sensor)|Heron (controller)|Node.js|Łódź|Return Merchandise Authorization (RMA)|Acme Pumps GmbH"


def entry(number, title, text="A text.", **metadata):
    return Document(text, title, id=f"d{number}", metadata=metadata)


def test_an_entry_is_added_replaced_and_deleted(path):
    with build_own_articles(
        [entry(1, "Tern 40", aliases=["T40"]), entry(2, "Seal")], path
    ) as store:
        retriever = EntityRetriever(store)
        add_own_articles(store, [entry(3, "Kite 7"), entry(1, "Tern 41", "New.", aliases=["T41"])])
        texts = [hit.text for hit in retriever.retrieve("is the t41 heavier than the kite 7?")]
        assert texts == ["Tern 41\nNew.", "Kite 7\nA text."]
        assert retriever.retrieve("is the t40 or the tern 40 heavy?") == []
        store.delete(["d1"])
        assert retriever.retrieve("how heavy is the t41?") == []
        assert len(store) == 2
    with ArticleStore(path) as store:
        assert list(store.titles()) == ["Seal", "Kite 7"]


def test_a_changed_file_is_the_one_that_would_be_built(tmp_path):
    chance = random.Random(0)
    names = TITLES.split("|")
    documents = {f"d{number}": entry(number, title) for number, title in enumerate(names)}
    with build_own_articles(documents.values(), tmp_path / "changed") as store:
        for step in range(12):
            gone = chance.sample(sorted(documents), 2)
            store.delete(gone)
            documents = {
                document_id: documents[document_id] for document_id in documents.keys() - {*gone}
            }
            more = [
                entry(
                    f"{step}-{at}",
                    f"{chance.choice(names)} {step}{at}",
                    f"{step}.",
                    aliases=[chance.choice(names)],
                )
                for at in range(2)
            ]
            again = documents[chance.choice(sorted(documents))]
            more.append(
                Document(
                    "Again.", again.title, id=again.id, metadata={"aliases": [f"A&{step}", "X-1"]}
                )
            )
            add_own_articles(store, more)
            documents |= {document.id: document for document in more}
    build_own_articles(documents.values(), tmp_path / "built").close()
    (*rows, meta), (*expected, of_built) = (
        contents(tmp_path / "changed"),
        contents(tmp_path / "built"),
    )
    assert rows == expected
    assert meta.keys() == of_built.keys()
    assert (meta["articles"], meta["names"], meta["words"]) == (
        of_built["articles"],
        of_built["names"],
        of_built["words"],
    )


def test_title_and_aliases_are_read_where_they_were(tmp_path):
    first = Document("A.", id="a", metadata={"term": "Tern", "names": ["T40"]})
    with build_own_articles([first], title_key="term", aliases_key="names") as store:
        add_own_articles(
            store, [Document("B.", id="b", metadata={"term": "Kite", "names": ["K7"]})]
        )
        assert store.get("k7").title == "Kite"
        swapped = [
            Document("C.", id=id_, metadata={"term": term})
            for id_, term in (("a", "Kite"), ("b", "Tern"))
        ]
        add_own_articles(store, swapped)
        assert [store.get(title).document_id for title in ("Tern", "Kite")] == ["b", "a"]


@pytest.mark.parametrize(
    "record", [Redirect("Sao", "São"), Article("B", "x", links=(("town", "São"),))]
)
def test_a_store_with_redirects_or_links_is_not_changed(build, record):
    store = build([Article("São", "Old.", document_id="1"), record])
    with pytest.raises(
        InvalidInputError, match="redirects or links, which a change would lose: build it again"
    ):
        store.delete(["1"])


def test_a_number_keeps_its_article(path):
    with build_own_articles([entry(number, f"E{number}") for number in range(3)], path) as store:
        numbers = {title: store.resolve(title).article_id for title in store.titles()}
        store.delete(["d2"])
        add_own_articles(store, [entry(3, "E3"), entry(1, "E1", "New.")])
        assert store.find(numbers["E0"]).title == "E0"
        assert store.find(numbers["E1"]).text == "New."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda store: store.delete(["d1", "x"]), "no article has the id 'x'"),
        (lambda store: store.delete([""]), "no article has the id ''"),
        (lambda store: store.delete("1"), "several ids, got the string '1'"),
        (
            lambda store: add_own_articles(store, [entry(9, "Tern 40")]),
            "several articles would have the title 'Tern 40'",
        ),
        (
            lambda store: add_own_articles(store, [entry(9, "Kite", " ")]),
            "and a text, got .*'Kite'",
        ),
        (
            lambda store: add_own_articles(store, [entry(9, "K"), entry(9, "L")]),
            "'d9' was given twice",
        ),
    ],
)
def test_what_cannot_be_changed_changes_nothing(path, change, message):
    with build_own_articles([entry(1, "Tern 40")], path) as store:
        before = path.read_bytes()
        with pytest.raises(InvalidInputError, match=message):
            change(store)
    assert path.read_bytes() == before
    assert leftovers(path) == []


def test_a_title_of_an_article_without_id(build):
    with pytest.raises(InvalidInputError, match="would have the title 'A'"):
        add_own_articles(build([Article("A", "Old.")]), [Document("New.", "A", id="1")])


def test_readers_go_on_while_it_changes(path):
    with (
        build_own_articles([entry(1, "Tern"), entry(2, "Kite")], path) as store,
        ArticleStore(path) as other,
        ThreadPoolExecutor(8) as executor,
    ):
        reads = [
            executor.submit(lambda: {store.get("tern").title for _ in range(1000)})
            for _ in range(3)
        ]
        writes = [
            executor.submit(add_own_articles, store, [entry(number, f"W{number}")])
            for number in range(10, 14)
        ]
        for _ in range(3):
            store.delete(["d2"])
            add_own_articles(store, [entry(2, "Kite")])
        assert [future.result() for future in (*reads, *writes)] == [{"Tern"}] * 3 + [None] * 4
        assert len(store) == 6  # no change was lost
        assert len(other) == 2  # it reads what it opened
        other.reload()
        assert len(other) == 6


@pytest.fixture
def tenants():
    documents = [
        entry(1, "Refund", "North pays in 3 days.", tenant="north", level=1),
        entry(2, "Refund", "South never pays.", tenant="south", level=2),
        entry(3, "Heron (sensor)", "Of the south.", tenant="south", level=1),
        entry(4, "Heron (pump)", "Of the north.", tenant="north", level=3),
    ]
    with build_own_articles(documents, duplicates="keep") as store:
        yield store


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"tenant": "north"}, ["North pays in 3 days.", "Of the north."]),
        ({"tenant": "south"}, ["South never pays.", "Of the south."]),
        ({"tenant": {"$in": ["south"]}, "level": {"$gt": 1}}, ["South never pays."]),
        ({"tenant": "west"}, []),
        (lambda metadata: metadata["level"] == 3, ["Of the north."]),
    ],
)
def test_tenants_see_their_own_articles_only(tenants, condition, expected):
    question = "how long does a refund of the heron sensor take?"
    assert [
        hit.unit.text for hit in EntityRetriever(tenants, filter=condition).retrieve(question)
    ] == expected
    hits = EntityRetriever(tenants, TitleLinker(tenants)).retrieve(question, filter=condition)
    assert [hit.unit.text for hit in hits] == expected
    assert not any(hit.mention.ambiguous for hit in hits)


def test_what_another_tenant_has_is_no_name(tenants):
    view = tenants.filtered({"tenant": "north"})
    assert view.get("Heron (sensor)") is None
    [number] = tenants.articles_titled("Heron (sensor)")
    assert (view.find(number), tenants.find(number).text) == (None, "Of the south.")
    assert view.get("Refund").text == "North pays in 3 days."
    assert (len(view), len(tenants), list(view.titles())) == (2, 4, ["Refund", "Heron (pump)"])
    assert pickle.loads(pickle.dumps(view)).get("Refund").text == "North pays in 3 days."
    assert len(view.filtered({"level": 3})) == 1
    add_own_articles(tenants, [entry(5, "Refund", "West.", tenant="west")])
    assert view.get("Refund").text == "North pays in 3 days."
    (hit,) = EntityRetriever(tenants, filter={"tenant": "west"}).retrieve("a refund")
    assert hit.unit.text == "West."


@pytest.mark.parametrize(("ambiguous", "tenants_of"), [("first", "N"), ("all", "NS"), ("skip", "")])
def test_articles_of_one_title_without_a_filter(tenants, ambiguous, tenants_of):
    hits = EntityRetriever(tenants, ambiguous=ambiguous).retrieve("What is a refund?")
    assert [hit.unit.text[0] for hit in hits] == [*tenants_of]


def test_without_a_path_all_is_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with build_own_articles([entry(1, "Tern 40"), entry(2, "Seal")]) as store:
        assert store.path is None
        add_own_articles(store, [entry(3, "Kite 7")])
        store.delete(["d2"])
        store.reload()
        assert list(store.titles()) == ["Tern 40", "Kite 7"]
        assert store.verify() == []
        assert store.stats()["bytes"] > 0
        copy = pickle.loads(pickle.dumps(store.filtered({"none": None})))
        assert copy.path is None
        assert len(copy) == len(store.filtered({"none": None}))
        assert list(tmp_path.iterdir()) == []
