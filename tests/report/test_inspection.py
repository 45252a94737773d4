from __future__ import annotations

import http.client
import threading
from urllib.parse import quote, urlsplit

import pytest

from factoid import Document, UnitStore
from factoid.errors import InvalidInputError
from factoid.report.inspection import dirt, listed, view_answer, view_document
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.words import count_words
from tests.report.saved import HOSTILE
from tests.report.test_page import Page

pytest.importorskip("jinja2")

from factoid.report import inspector
from factoid.report.inspector import Inspector, InspectorServer


def facts(view):
    return [fact for passage in view.passages for fact in passage.facts]


def test_parts_are_the_text_and_facts_point_at_their_source(store):
    view = view_document(store, "vasa")
    [document] = store.documents(["vasa"])
    by_number = {fact.number: fact for fact in facts(view)}
    assert list(by_number) == list(range(1, len(by_number) + 1))
    spans = {
        (unit.granularity, unit.search_text, unit.start, unit.end)
        for unit in store.units_of(["vasa"])
    }
    for passage in view.passages:
        assert (
            "".join(run.text for run in passage.runs) == document.text[passage.start : passage.end]
        )
        for fact in passage.facts:
            source = "".join(
                run.text for run in passage.runs if str(fact.number) in run.units.split()
            )
            start = document.text.index(source, passage.start)
            assert (fact.kind, fact.text, start, start + len(source)) in spans
            assert str(fact.number) in passage.runs[fact.run - 1].units.split()


def test_nothing_of_the_document_is_left_out(store):
    view = view_document(store, "vasa")
    [document] = store.documents(["vasa"])
    texts = [
        passage.before + "".join(run.text for run in passage.runs) for passage in view.passages
    ]
    assert "".join("".join([*texts, view.after]).split()) == "".join(document.text.split())
    assert all(passage.is_heading for passage in view.passages if passage.before)


def test_flags(store):
    view = view_document(store, "vasa")
    flags = {fact.text: fact.flags for fact in facts(view) if fact.kind == "proposition"}
    [invented] = [flag for text, of_text in flags.items() if "1999" in text for flag in of_text]
    assert invented.startswith("unsupported")
    assert flags["Divers found her in 1956."] == []
    assert view.flags["unsupported"] == 2  # once in each passage
    hostile = view_document(store, f"bad/{HOSTILE}?#")
    reasons = {flag for fact in facts(hostile) for flag in fact.flags}
    assert "fallback: empty output" in reasons


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The Vasa sank in 1628.", []),
        ("12 | 13 | 14", ["no word"]),
        ("The VÃ¡sa sank.", ["wrongly decoded"]),
        ("It sank \ufffd there.", ["wrongly decoded"]),
        ("It sank\x07 there.", ["control character"]),
        ("She was ﬁnally raised.", ["soft hyphen or ligature"]),
        ("The bal-\nlast was light.", ["broken word"]),
        ("Built <b>here</b>.", ["markup"]),
        ("See [it](https://ships.example).", ["markup"]),
        ("Is 3 < 4 > 2?", []),
        ("Well-known ships – and - dashes.", []),
    ],
)
def test_dirt(text, names):
    assert dirt(text) == names


def test_documents_are_listed_with_their_titles(store):
    entries, total = listed(store, 0, 1)
    assert ([entry.id for entry in entries], total) == (["vasa"], 2)
    assert view_document(store, "vasa").name == "Vasa"
    assert view_document(store, "none") is None


def test_units_without_a_document(store):
    with UnitStore(encoder=HashEncoder()) as bare:
        bare.add([unit for unit in store.units_of(["vasa"]) if unit.granularity != "sentence"])
        view = view_document(bare, "vasa")
        assert [passage.before for passage in view.passages] == ["", ""]
        assert len(facts(view)) > 3
        assert len(Page(Inspector(bare, "bare").to_html()).all("article")) == 2


def test_an_answer_shows_what_a_reader_gets_and_why(store):
    view = view_answer(store, "When did the Vasa sink in 1628?", k=2, words=9, lexical=None)
    assert (
        view.context.startswith("Vasa: The Vasa sank in 1628.")
        or "The Vasa sank in 1628." in view.context
    )
    assert view.words == count_words(view.context) <= 9
    assert view.units[0].text in view.context
    [expected] = store.search("When did the Vasa sink in 1628?", 1)
    first = view.hits[0]
    assert (first.score, {part.name: part.value for part in first.parts}) == (
        expected.score,
        dict(expected.parts),
    )
    assert first.before + first.source + first.after == expected.unit.text
    assert [match.score for match in first.matches] == [match.score for match in expected.matches]


def test_hostile_texts_are_texts(store):
    page = Page(Inspector(store, HOSTILE).to_html())
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    page = Page(Inspector(store, "ships").search_page(HOSTILE, words=100, k=5, by="default"))
    assert len(page.all("script")) == 1
    assert page.all("img") == []


def test_ids_and_labels(store):
    page = Page(Inspector(store, "ships").to_html())
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids
        assert attributes.get("href", "#content").removeprefix("#") in ids


def test_chosen_documents_and_too_many(store, monkeypatch):
    html = Inspector(store, "ships").to_html(["vasa"])
    assert "A hostile text" not in html
    with pytest.raises(InvalidInputError, match="holds no document 'none'"):
        Inspector(store, "ships").to_html(["none"])
    monkeypatch.setattr(inspector, "LARGEST", 1)
    html = Inspector(store, "ships").to_html()
    assert "Shown are the first 1 of 2 documents: name others with --document." in html
    with UnitStore(encoder=HashEncoder()) as empty:
        assert "the store is empty" in Inspector(empty, "none").to_html()


# -- The server --


@pytest.fixture
def server(store):
    with InspectorServer(Inspector(store, "ships")) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, *, host=None, method="GET"):
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{port}"})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response, text


def test_only_this_machine_with_the_secret_is_answered(server):
    assert server.server_address[0] == "127.0.0.1"
    path = urlsplit(server.url).path
    response, text = ask(server, path)
    assert (response.status, "vasa.md" in text) == (200, True)
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["Cache-Control"] == "no-store"
    port = server.server_address[1]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1.evil.example:{port}",
    ):
        response, text = ask(server, path, host=host)
        assert (response.status, "vasa.md" in text) == (403, False)
    assert ask(server, path, host=f"localhost:{port}")[0].status == 200
    for wrong in ("/", "/document?id=vasa", "/wrong/", f"{path[:-2]}x/", path[:-1]):
        response, text = ask(server, wrong)
        assert (response.status, "vasa.md" in text) == (403, False), wrong
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(server, path, method=method)[0].status == 501
    assert ask(server, path + "x" * 5000)[0].status == 403


def test_pages_of_the_server(server):
    path = urlsplit(server.url).path
    for address in ("document?id=none", "document", "other", "../../etc/passwd", "document/../x"):
        response, text = ask(server, path + address)
        assert response.status == 404
        assert "There is no such document or page." in text
    response, text = ask(server, f"{path}document?id={quote(f'bad/{HOSTILE}?#', safe='')}")
    assert response.status == 200
    assert "A hostile text" in text
    _, text = ask(server, f"{path}search?q=Who+found+the+Vasa%3F&words=7&k=1&by=words")
    assert "of 7 words" in text
    assert text.count('class="hit"') == 1
    for query in ("q=", "q=+", ""):
        assert "Ask a question." in ask(server, f"{path}search?{query}")[1]
    # Nonsense is the default.
    for query in ("words=-1&k=x", "words=99999999999999999999&k=0&by=nothing", "words=٣"):
        assert ask(server, f"{path}search?q=Vasa&{quote(query, safe='=&')}")[0].status == 200


def test_a_refused_search_is_a_message(store, server, monkeypatch):
    def refuse(*_args, **_options):
        raise InvalidInputError("no such <thing>")

    monkeypatch.setattr(store, "search", refuse)
    response, text = ask(server, f"{urlsplit(server.url).path}search?q=Vasa")
    assert response.status == 200
    assert "no such &lt;thing&gt;" in text


def test_many_documents_are_listed_in_pages(monkeypatch):
    monkeypatch.setattr(inspector, "_LISTED", 2)
    with UnitStore(encoder=HashEncoder()) as many:
        documents = [Document(f"Ship number {n} sank.", f"Ship {n}", id=str(n)) for n in range(5)]
        many.add_documents(
            documents, propositionizer=ScriptedPropositionizer(lambda passage: [passage.text])
        )
        page = Inspector(many, "ships").list_page(2)
    assert "3 to 4 of 5" in page
    assert 'href="./?from=0"' in page
    assert 'href="./?from=4"' in page
