"""Contexts of passages: written once, embedded and searched, and never a part of a text."""

from __future__ import annotations

import threading

import pytest

from factoid import Document, UnitStore, pack_context
from factoid.heading_template import encoded_text
from factoid.errors import EncoderMismatchError, InvalidInputError, PropositionizerError
from factoid.propositions import PromptContextualizer
from factoid.propositions.contextualizer import CONTEXT
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.units import Granularity

PARTS = [f"It rose by {number} % that year." for number in range(6)]
REPORT = Document("# Acme\n\n" + "\n\n".join(PARTS), id="report", metadata={"kind": "report"})
SPLIT = {
    "words": 7,
    "min_words": 0,
    "propositionizer": ScriptedPropositionizer(lambda passage: [f"Fact: {passage.text}"]),
}


class Model:
    """Writes the year that belongs to a passage, and remembers what it was asked."""

    def __init__(self, fail_after=10**9):
        self.prompts = []
        self.fail_after = fail_after
        self.lock = threading.Lock()

    def __call__(self, prompt):
        with self.lock:
            self.prompts.append(prompt)
            if len(self.prompts) > self.fail_after:
                raise ConnectionError("no answer")
        passage = prompt.rpartition("<passage>\n")[2].partition("\n</passage>")[0]
        return f" Revenue in\n{2000 + PARTS.index(passage)}. "


def opened(path=None, **options):
    return UnitStore(path, encoder=HashEncoder(), embed_metadata=[CONTEXT], **options)


def passages(store):
    units = store.units_of(["report"])
    return sorted(
        (unit for unit in units if unit.granularity is Granularity.PASSAGE),
        key=lambda unit: unit.start,
    )


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_context_is_embedded_and_searched_and_no_text(asynchronous):
    model = Model()
    with opened() as store:
        options = {"contextualizer": PromptContextualizer(model, name="m"), **SPLIT}
        if asynchronous:
            await store.aadd_documents([REPORT], **options)
        else:
            store.add_documents([REPORT], **options)
        assert [unit.metadata for unit in passages(store)] == [
            {"kind": "report", CONTEXT: f"Revenue in {year}."} for year in range(2000, 2006)
        ]
        [hit] = store.search("revenue 2003", 1, granularity="passage", lexical=0)
        assert hit.unit.text == PARTS[3]
        [hit] = store.search("2004", 1, lexical=1)
        assert hit.unit.text == PARTS[4]
        assert "2004" not in pack_context([hit])
        assert all("2004" not in match.unit.text for match in hit.matches)
        # The vector is that of the text with its context; facts have none.
        unit = hit.unit
        encoded = encoded_text(unit, store.opened.template)
        assert encoded.startswith("Revenue in 2004.")
        assert encoded.endswith(f"Acme: {unit.text}")
        [expected] = HashEncoder().encode_units([encoded])
        assert store.vectors([unit.id])[unit.id] == pytest.approx(expected)
        facts = [
            fact
            for fact in store.units_of(["report"])
            if fact.granularity is Granularity.PROPOSITION
        ]
        assert facts
        assert all(CONTEXT not in fact.metadata for fact in facts)
    assert all(prompt.count(REPORT.text) == 1 for prompt in model.prompts)


def test_a_passage_is_asked_once(tmp_path):
    model = Model()
    contexts = PromptContextualizer(model, name="m")
    with opened(tmp_path / "store") as store:
        store.add_documents([REPORT], contextualizer=contexts, **SPLIT)
        assert store.add_documents([REPORT], contextualizer=contexts, **SPLIT).unchanged == 1
        store.delete(document_ids=["report"])
        store.add_documents([REPORT], contextualizer=contexts, **SPLIT)
        assert len(model.prompts) == 6
        # Another model writes others, and another document gives a passage another context.
        store.add_documents([REPORT], contextualizer=PromptContextualizer(model, name="n"), **SPLIT)
        assert len(model.prompts) == 12
        other = Document("# Other\n\n" + PARTS[0], id="other")
        store.add_documents([other], contextualizer=contexts, **SPLIT)
        assert len(model.prompts) == 13
    with opened(tmp_path / "store") as store:
        assert store.search("2005", 1, lexical=1)[0].unit.text == PARTS[5]


def test_an_interrupted_call_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("factoid.propositions.contextualizer._BLOCK", 2)
    failing = Model(fail_after=4)
    with opened(tmp_path / "store") as store:
        with pytest.raises(ConnectionError):
            store.add_documents(
                [REPORT], contextualizer=PromptContextualizer(failing, name="m", workers=1), **SPLIT
            )
        assert len(store) == 0
        model = Model()
        store.add_documents([REPORT], contextualizer=PromptContextualizer(model, name="m"), **SPLIT)
        assert len(model.prompts) == 2
        assert passages(store)[0].metadata[CONTEXT] == "Revenue in 2000."


def test_contexts_are_a_part_of_a_stores_identity(tmp_path):
    contexts = PromptContextualizer(Model(), name="m")
    with UnitStore(tmp_path / "plain", encoder=HashEncoder()) as store:
        with pytest.raises(InvalidInputError, match=r'embed_metadata=\["context"\]'):
            store.add_documents([REPORT], contextualizer=contexts)
        store.add_documents([REPORT], **SPLIT)
    with pytest.raises(EncoderMismatchError):
        opened(tmp_path / "plain")


def test_no_context_and_wrong_ones():
    with opened() as store:
        store.add_documents(
            [REPORT], contextualizer=PromptContextualizer(lambda _prompt: " ", name="m"), **SPLIT
        )
        assert all(CONTEXT not in unit.metadata for unit in passages(store))

    class Wrong:
        name = "wrong"

        def contextualize(self, document, passages):
            return ["x"]

    with (
        opened() as store,
        pytest.raises(PropositionizerError, match="one string for each of 6 passages"),
    ):
        store.add_documents([REPORT], contextualizer=Wrong(), **SPLIT)
    with pytest.raises(InvalidInputError, match="name the model"):
        PromptContextualizer(Model(), name="")
    with pytest.raises(InvalidInputError, match="fields"):
        PromptContextualizer(Model(), name="m", prompt="{passage}")


def test_a_long_document_is_cut_around_the_passage():
    model = Model()
    document = Document("# Acme\n\n" + "Filler words. " * 10_000 + "\n\n" + PARTS[2], id="report")
    model_of = PromptContextualizer(
        lambda prompt: model.prompts.append(prompt) or "Said.", name="m"
    )
    with opened() as store:
        store.add_documents([document], contextualizer=model_of, words=1000, min_words=0)
    assert max(map(len, model.prompts)) < 70_000
    assert model.prompts[-1].count(PARTS[2]) == 2  # in the document, and as the passage


def test_braces_in_texts_are_text():
    prompts = []
    contexts = PromptContextualizer(lambda prompt: prompts.append(prompt) or "Said.", name="m")
    with opened() as store:
        store.add_documents([Document("A {passage} of {document} here.")], contextualizer=contexts)
    assert prompts[0].count("A {passage} of {document} here.") == 2


def test_in_langchain():
    langchain = pytest.importorskip("langchain_factoid")
    from langchain_core.documents import Document as LangChainDocument

    embeddings = langchain.EncoderEmbeddings(HashEncoder())
    contexts = PromptContextualizer(lambda _prompt: "On whales.", name="m")
    with langchain.MultiGranularFAISS(
        embeddings, embed_metadata=[CONTEXT], contextualizer=contexts
    ) as store:
        store.add_documents([LangChainDocument("They sing.")])
        [document] = langchain.MultiGranularRetriever(store=store, k=1, parents="passage").invoke(
            "whales"
        )
        assert (document.page_content, document.metadata[CONTEXT]) == ("They sing.", "On whales.")
