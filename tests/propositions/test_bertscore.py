"""BERTScore against loops over tokens that run the same tiny model one text at a time."""

from __future__ import annotations

import itertools
import math

import pytest

from factoid.errors import InvalidInputError
from factoid.propositions.score import BERTScore

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = ["anna was born in oslo .", "oslo", "she moved to berlin , to berlin", "born in oslo was anna"]
OTHERS = ["anna moved", "berlin was born in berlin . .", "oslo"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.manual_seed(0)
    words = sorted({word for text in TEXTS + OTHERS for word in text.split()})
    vocab = {word: number for number, word in enumerate(SPECIAL + words)}
    tokenizer = transformers.BertTokenizer(vocab=vocab, model_max_length=12)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(vocab), max_position_embeddings=16, **sizes)
    where = tmp_path_factory.mktemp("models") / "tiny-bert"
    transformers.BertModel(config).save_pretrained(where)
    tokenizer.save_pretrained(where)
    return where


def states(folder, text, layer):
    """The hidden states of one text's own tokens, [CLS] and [SEP] left out by position."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        found = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
    return found.hidden_states[layer][0, 1:-1].tolist()


def cosine(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


def oracle(a, b):
    precision = sum(max(cosine(one, other) for other in b) for one in a) / len(a)
    recall = sum(max(cosine(one, other) for one in a) for other in b) / len(b)
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("layer", [0, 2, 3])
def test_the_oracle_agrees(folder, layer):
    found = BERTScore(folder, layer=layer, batch_size=2)(TEXTS, OTHERS)
    assert found.shape == (len(TEXTS), len(OTHERS))
    for (row, one), (column, other) in itertools.product(enumerate(TEXTS), enumerate(OTHERS)):
        expected = oracle(states(folder, one, layer), states(folder, other, layer))
        assert found[row, column] == pytest.approx(expected, abs=1e-5)


def test_texts_without_tokens_and_texts_longer_than_the_model(folder):
    similarity = BERTScore(folder, layer=2)
    one = pytest.approx(1, abs=1e-6)
    assert similarity(["", "oslo"], ["oslo", "  "]).tolist() == [[0, 0], [one, 0]]
    assert similarity([], TEXTS).shape == (0, len(TEXTS))
    assert similarity(["oslo " * 50], ["oslo " * 10]).tolist() == [[one]]


def test_what_cannot_be_used_is_named(folder, tmp_path):
    with pytest.raises(InvalidInputError, match=r"has 3 layers.*got layer=17"):
        BERTScore(folder)(TEXTS, OTHERS)
    with pytest.raises(InvalidInputError, match="cannot load the encoder"):
        BERTScore(tmp_path / "none")(TEXTS, OTHERS)
