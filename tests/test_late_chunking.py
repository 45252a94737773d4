"""Sentences and propositions as parts of their passage, in one pass of a model that pools by
mean.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex

from factoid import Document, SentenceTransformerEncoder, UnitStore
from factoid.encode import SpanEncoder
from factoid.heading_template import encoded_text
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder
from factoid.units import Granularity
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS
from llama_index_factoid import (
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
)

needs_models = pytest.mark.skipif(
    find_spec("sentence_transformers") is None,
    reason='needs Sentence Transformers: pip install "factoid[models]"',
)

WORDS = "the tower leans it was closed in june and july . bread is baked every day passage : port of call".split()
TEXT = "the tower leans . it was closed in june ."


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    from tests.tiny_sentence_transformer import make_untrained

    def encoder(**options):
        return SentenceTransformerEncoder(
            make_untrained(tmp_path_factory.mktemp("model"), WORDS, **options)
        )

    return encoder


def by_hand(encoder, text, span, *, prompt=""):
    """Return the vector of a part: the model's own tokens, cut by the words before them, in plain
    loops.
    """
    import torch

    [transformer, *_] = encoder._model()
    tokenizer = transformer.tokenizer
    ids = tokenizer(prompt + text, return_tensors="pt")
    with torch.no_grad():
        states = transformer.model(**ids).last_hidden_state[0].numpy()
    start, end = (len(prompt) + place for place in span)
    chosen = []
    at = 0  # every token stands in the text as it is written, but for the marks of pieces of words
    for token, state in zip(
        tokenizer.convert_ids_to_tokens(ids["input_ids"][0])[1:-1], states[1:-1], strict=True
    ):
        word = token.removeprefix("##")
        at = (prompt + text).index(word, at)
        if at < end and at + len(word) > start:
            chosen.append(state)
        at += len(word)
    mean = np.mean(chosen, axis=0)
    return mean / np.linalg.norm(mean)


# -- The model --


@needs_models
def test_a_part_is_the_mean_of_its_tokens_in_the_whole_text(make):
    encoder = make()
    spans = [(0, 17), (18, len(TEXT)), (4, 9), (0, len(TEXT))]
    texts = [TEXT, "bread", "  bread is baked ."]
    vectors = encoder.encode_spans(texts, [spans, [(0, 5)], [(2, 7), (8, 10)]])
    np.testing.assert_allclose(
        [of_text[0] for of_text in vectors], encoder.encode_units(texts), atol=1e-6
    )
    for span, vector in zip(spans, vectors[0][1:], strict=True):
        np.testing.assert_allclose(vector, by_hand(encoder, TEXT, span), atol=1e-5)
    np.testing.assert_allclose(vectors[2][1], by_hand(encoder, texts[2], (2, 7)), atol=1e-5)
    alone = encoder.encode_units([TEXT[:17]])[0]
    assert np.abs(alone - vectors[0][1]).max() > 0.01  # the text around it counts


@needs_models
def test_the_prompt_of_a_model_moves_no_span(make):
    encoder = make(prompts={"document": "passage : "}, limit=32)
    [vectors] = encoder.encode_spans([TEXT], [[(0, 17), (4, 9)]])
    np.testing.assert_allclose(vectors[0], encoder.encode_units([TEXT])[0], atol=1e-6)
    np.testing.assert_allclose(
        vectors[2], by_hand(encoder, TEXT, (4, 9), prompt="passage : "), atol=1e-5
    )


@needs_models
def test_what_follows_the_pooling_is_done_to_parts_as_well(make):
    import torch

    encoder = make(dense=True, truncate_dim=5)
    _, _, dense, _ = encoder._model()
    plain = make()
    [vectors] = encoder.encode_spans([TEXT], [[(0, len(TEXT)), (4, 9)]])
    assert vectors.shape == (3, 5)
    np.testing.assert_allclose(vectors[0], encoder.encode_units([TEXT])[0], atol=1e-6)
    transformer = plain._model()[0]
    with torch.no_grad():
        ids = transformer.tokenizer(TEXT, return_tensors="pt")
        tower = transformer.model(**ids).last_hidden_state[0][2]
        expected = torch.nn.functional.normalize(
            dense({"sentence_embedding": tower[None]})["sentence_embedding"]
        )
    np.testing.assert_allclose(vectors[2], expected[0][:5].numpy(), atol=1e-5)


@needs_models
def test_of_a_long_text_each_token_counts_once(make):
    """Without layers a token's vector depends on its word alone: any token that is missing or
    counts twice shows.
    """
    encoder = make(layers=0, limit=12)
    generator = np.random.default_rng(0)
    words = [str(word) for word in generator.choice(WORDS, 150)]
    words[40:44] = ["towers", "leaned", "breads", "ports"]  # of several tokens each
    text = " ".join(words)
    starts = np.cumsum([0, *(len(word) + 1 for word in words)]).tolist()
    bounds = [(3, 5), (0, 150), (38, 44), (9, 10), (100, 149), (149, 150)]
    spans = [(starts[first], starts[last] - 1) for first, last in bounds]
    [vectors] = encoder.encode_spans([text], [spans])
    model = encoder._model()
    bert = model[0].model
    table = bert.embeddings.word_embeddings.weight + bert.embeddings.token_type_embeddings.weight[0]
    table = bert.embeddings.LayerNorm(table).detach().numpy()
    for (start, end), vector in zip(spans, vectors[1:], strict=True):
        ids = model.tokenizer(text[start:end], add_special_tokens=False)["input_ids"]
        mean = table[ids].mean(axis=0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)


@needs_models
def test_a_word_longer_than_the_model_reads_is_read_to_its_end(make):
    encoder = make(limit=12)
    text = "the " + "towerleans" * 20 + " bread"
    [vectors] = encoder.encode_spans([text], [[(0, 3), (4, 203), (204, len(text))]])
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert np.abs(vectors[3] - vectors[0]).max() > 0.01  # the last word has been read


@needs_models
def test_what_holds_no_token_has_the_vector_of_its_text(make):
    encoder = make()
    texts = [TEXT, "", " \u200b \n"]
    for vectors in encoder.encode_spans(
        texts, [[(3, 4), (0, 0), (len(TEXT), 99)], [(0, 0)], [(0, 4)]]
    ):
        np.testing.assert_allclose(
            vectors[1:], np.broadcast_to(vectors[0], vectors[1:].shape), atol=1e-6
        )
    assert encoder.encode_spans([], []) == []


@needs_models
@pytest.mark.parametrize("pooling", ["cls", "max", "weightedmean"])
def test_models_that_do_not_pool_by_mean_are_refused(make, pooling):
    with UnitStore(encoder=make(pooling=pooling), late_chunking=True) as store:
        with pytest.raises(
            InvalidInputError,
            match=f"pools by mean: this one pools by {pooling}. Leave late_chunking",
        ):
            store.add_documents([Document("The tower leans. It was closed.")])
        assert len(store) == 0


# -- The store --

MARKED = """# Port of call

The **ferry** to [Faro](https://ferries.example/faro) sails at *nine*. It carries `90` cars, and dogs travel for free.

| Place | Hour |
| --- | --- |
| Ghent | seven |
| Hamar | eight |
"""


class Recording(HashEncoder):
    """Remembers which parts of which texts it has encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[tuple[str, str]] = []
        self.alone: list[str] = []

    def encode_units(self, texts):
        self.alone += texts
        return super().encode_units(texts)

    def encode_spans(self, texts, spans):
        for text, of_text in zip(texts, spans, strict=True):
            self.parts += [(text, text[start:end]) for start, end in of_text]
        plain = HashEncoder()
        return plain.encode_spans(texts, spans)


@pytest.mark.parametrize("awaited", [False, True])
async def test_units_are_encoded_where_a_reader_sees_them_in_their_passage(awaited):
    encoder = Recording()
    with UnitStore(encoder=encoder, granularities=GRANULARITIES, late_chunking=True) as store:
        if awaited:
            await store.aadd_documents([Document(MARKED, id="port")])
        else:
            store.add_documents([Document(MARKED, id="port")])
        units = {unit.id: unit for unit in store.get(store.ids())}
        vectors = store.vectors(list(units))
        assert len(vectors) == len(units)
        seen = {part for _, part in encoder.parts}
        assert {"The ferry to Faro sails at nine.", "Ghent | seven", "Hamar | eight"} <= seen
        assert not any("](" in part or "**" in part for part in seen)
        assert all(text.startswith("Port of call: ") for text, part in encoder.parts)
        for unit in units.values():
            whole = encoded_text(units.get(unit.parent_id, unit))
            if unit.granularity is Granularity.PASSAGE:
                [expected] = HashEncoder().encode_units([whole])
            else:
                words = (
                    MARKED[unit.start : unit.end]
                    .replace("(https://ferries.example/faro)", "")
                    .replace("|", " ")
                )
                [expected] = HashEncoder().encode_units([words])
            np.testing.assert_allclose(vectors[unit.id], expected, atol=1e-6, err_msg=unit.text)
        [hit] = store.search("Do dogs travel for free?", 1)
        assert "dogs" in hit.matches[0].unit.text


def test_of_an_edited_document_only_new_passages_are_encoded():
    text = "\n\n".join(f"# Part {n}\n\nRow {n} is here. It has {n} cells." for n in range(9))
    encoder = Recording()
    with UnitStore(encoder=encoder, late_chunking=True) as store:
        store.add_documents([Document(text, id="book")])
        encoder.parts.clear()
        encoder.alone.clear()
        edited = text.replace("Row 4 is here", "Row 4 was lost").replace("Row 0", "The first row")
        store.add_documents([Document(edited, id="book")])
        assert {whole for whole, _ in encoder.parts} | {*encoder.alone} == {
            "Part 0: The first row is here. It has 0 cells.",
            "Part 0 — Part 4: Row 4 was lost. It has 4 cells.",
        }
        after = store.vectors(store.ids())
    with UnitStore(encoder=Recording(), late_chunking=True) as fresh:
        fresh.add_documents([Document(edited, id="book")])
        expected = fresh.vectors(fresh.ids())
    assert after.keys() == expected.keys()
    for unit_id, vector in expected.items():
        np.testing.assert_allclose(after[unit_id], vector, atol=1e-6)


def test_a_unit_that_is_added_later_is_a_part_of_its_stored_passage():
    encoder = Recording()
    with UnitStore(encoder=encoder, granularities=GRANULARITIES, late_chunking=True) as store:
        store.add_documents([Document(MARKED, id="port")])
        units = store.get(store.ids())
        sentence = next(
            unit
            for unit in units
            if unit.granularity is Granularity.SENTENCE and "cars" in unit.text
        )
        before = store.vectors([sentence.id])[sentence.id]
        encoder.parts.clear()
        store.add([sentence])
        assert [part for _, part in encoder.parts] == [
            "It carries `90` cars, and dogs travel for free."
        ]
        np.testing.assert_allclose(store.vectors([sentence.id])[sentence.id], before, atol=1e-6)


def test_a_store_knows_that_it_was_filled_so_and_refuses_the_other_way(tmp_path):
    encoder = HashEncoder()
    with UnitStore(tmp_path / "late", encoder=encoder, late_chunking=True) as store:
        store.add_documents([Document(MARKED, id="port")])
        store.export(tmp_path / "late.jsonl")
        expected = store.vectors(store.ids())
    with UnitStore(tmp_path / "late", encoder=encoder) as again:
        assert again.late_chunking
        assert again.stats()["late_chunking"] is True
        again.add_documents([Document(MARKED + "\nMore.", id="port"), Document(MARKED, id="port")])
        for unit_id, vector in again.vectors(again.ids()).items():
            np.testing.assert_allclose(vector, expected[unit_id], atol=1e-6)
    with pytest.raises(
        EncoderMismatchError, match=r"built with the late_chunking 'true', .* opened with 'false'"
    ):
        UnitStore(tmp_path / "late", encoder=encoder, late_chunking=False)
    with UnitStore(tmp_path / "apart", encoder=encoder) as apart:
        assert not apart.late_chunking
        apart.add_documents([Document("A text. It has two sentences.")])
        for move in (
            lambda: apart.merge(tmp_path / "late"),
            lambda: apart.import_from(tmp_path / "late.jsonl"),
        ):
            with pytest.raises(EncoderMismatchError, match="late_chunking"):
                move()
    with pytest.raises(
        EncoderMismatchError, match=r"built with the late_chunking 'false', .* opened with 'true'"
    ):
        UnitStore(tmp_path / "apart", encoder=encoder, late_chunking=True)
    with UnitStore(tmp_path / "new", encoder=encoder) as new:
        new.import_from(tmp_path / "late.jsonl")
        assert new.late_chunking
        new.clear()
        new.add_documents([Document("A text.")])
        assert not new.late_chunking


def test_encoders_without_spans_are_refused_at_once():
    class Plain:
        encode_units = encode_queries = HashEncoder().encode_units

    assert isinstance(HashEncoder(), SpanEncoder)
    assert isinstance(SentenceTransformerEncoder(), SpanEncoder)
    for opening in (
        partial(UnitStore, encoder=Plain()),
        partial(MultiGranularFAISS, EncoderEmbeddings(Plain())),
    ):
        with pytest.raises(
            InvalidInputError, match="needs an encoder that has encode_spans, which Plain"
        ):
            opening(late_chunking=True)


# -- The ways in --


def test_langchain_and_the_command_line_have_the_option_and_llama_index_says_why_not(tmp_path):
    embeddings = EncoderEmbeddings(HashEncoder())
    with MultiGranularFAISS(embeddings, path=tmp_path / "store", late_chunking=True) as store:
        store.add_texts([MARKED], ids=["port"])
        vectors = store.store.vectors(store.store.ids())
    with UnitStore(encoder=HashEncoder(), late_chunking=True) as core:
        core.add_documents([Document(MARKED, id="port")])
        for vector, expected in zip(
            vectors.values(), core.vectors(core.ids()).values(), strict=True
        ):
            np.testing.assert_allclose(vector, expected, atol=1e-6)
    with MultiGranularFaissVectorStore(
        tmp_path / "store", embed_model=EncoderEmbedding(HashEncoder())
    ) as nodes:
        index = VectorStoreIndex.from_vector_store(
            nodes, embed_model=nodes.embed_model, transformations=[MultiGranularNodeParser()]
        )
        [found] = index.as_retriever(similarity_top_k=1).retrieve(
            "When does the ferry to Faro sail?"
        )
        assert "Faro" in found.node.text
        with pytest.raises(EncoderMismatchError, match="LlamaIndex embeds each node by itself"):
            index.insert(LlamaIndexDocument(text="Another text."))
    result = subprocess.run(
        [sys.executable, "-m", "factoid", "index", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--late-chunking" in result.stdout
