"""Texts are put into batches by their tokens."""

from __future__ import annotations

import numpy as np
import pytest

from factoid import SentenceTransformerEncoder
from factoid.token_counts import longest_first

pytest.importorskip("sentence_transformers", reason="needs Sentence Transformers")

from tests.tiny_sentence_transformer import make_untrained

# The words of the vocabulary are one token each, others one for each letter.
TEXTS = ["house " * 4, "abc xyz", "house", "zzzzzzzzz", "house house house", "cab " * 30, ""]
TOKENS = [6, 8, 3, 11, 5, 16, 2]  # with [CLS] and [SEP], and at most 16


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    words = ["house", *"abcxyz"]
    return make_untrained(tmp_path_factory.mktemp("model"), words, limit=16)


def test_the_text_with_most_tokens_is_first(model):
    order = longest_first(TEXTS, model.tokenizer, model.max_seq_length)
    assert order == sorted(range(len(TEXTS)), key=lambda place: -TOKENS[place])


def test_without_a_known_tokenizer_characters_count():
    assert longest_first(["a", "abc", "ab"], None, None) == [1, 2, 0]
    assert longest_first(["a"], None, None) == [0]
    assert longest_first([], None, None) == []


def test_the_models_own_tokenizer_is_left_as_it_is(model):
    before = model.tokenizer.backend_tokenizer.to_str()
    longest_first(TEXTS, model.tokenizer, model.max_seq_length)
    assert model.tokenizer.backend_tokenizer.to_str() == before


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_vectors_come_back_in_the_order_of_the_texts(model, size):
    alone = SentenceTransformerEncoder(model, batch_size=1)
    encoder = SentenceTransformerEncoder(model, batch_size=size)
    expected = np.vstack([alone.encode_units([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode_units(TEXTS), expected, atol=1e-6)
    for tokens, text in zip(encoder.encode_unit_tokens(TEXTS), TEXTS, strict=True):
        np.testing.assert_allclose(tokens, alone.encode_unit_tokens([text])[0], atol=1e-5)


def test_a_batch_has_texts_of_like_lengths(model, monkeypatch):
    batches = []
    encode = type(model).encode_document

    def noted(self, texts, **options):
        batches.append(texts)
        return encode(self, texts, **options)

    monkeypatch.setattr(type(model), "encode_document", noted)
    SentenceTransformerEncoder(model, batch_size=2).encode_units(TEXTS)
    assert batches == [
        [TEXTS[5], TEXTS[3]],
        [TEXTS[1], TEXTS[0]],
        [TEXTS[4], TEXTS[2]],
        [TEXTS[6]],
    ]


def test_batches_are_small_on_the_cpu(model):
    assert SentenceTransformerEncoder(model).batch_size == 16
    assert SentenceTransformerEncoder(model, batch_size=5).batch_size == 5
