"""Token vectors against a computation of their own, and windows that lose nothing."""

from __future__ import annotations

import string
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import AnyGranularityRanker
from factoid.errors import InvalidInputError, MissingDependencyError
from factoid.late_interaction import LateInteractionEncoder, TokenEncoder
from factoid.late_interaction.encoder import _windows
from tests.late_interaction.tiny_colbert import DOCUMENT_LENGTH, POSITIONS, QUERY_LENGTH, WORDS

PASSAGE = "The Vasa sank in 1628, on its first voyage!"
QUERY = "Where was Anna born?"
LONG = " ".join(f"{WORDS[at % len(WORDS)]}{'.' if at % 7 == 6 else ''}" for at in range(0, 400, 3))


@pytest.fixture(scope="module")
def encoder(colbert: Path) -> LateInteractionEncoder:
    return LateInteractionEncoder(colbert, device="cpu")


def stanford(folder: Path, text: str, *, query: bool = False) -> tuple[list[str], np.ndarray]:
    """Tokens and vectors as the authors of ColBERT make them, without Sentence Transformers."""
    import torch
    import transformers
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    bert = transformers.BertModel(transformers.BertConfig.from_pretrained(folder)).eval()
    bert.load_state_dict(
        {name.removeprefix("bert."): value for name, value in weights.items() if "bert." in name}
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    words = tokenizer.tokenize(text)
    tokens = ["[CLS]", "[unused0]" if query else "[unused1]", *words, "[SEP]"]
    attention = [1] * len(tokens)
    if query:
        attention += [0] * (QUERY_LENGTH - len(tokens))
        tokens += ["[MASK]"] * (QUERY_LENGTH - len(tokens))
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(tokens)])
    with torch.no_grad():
        hidden = bert(ids, attention_mask=torch.tensor([attention])).last_hidden_state[0]
        vectors = torch.nn.functional.normalize(hidden @ weights["linear.weight"].T, dim=-1).numpy()
    scored = [query or token not in string.punctuation for token in tokens]
    return [token for token, one in zip(tokens, scored, strict=True) if one], vectors[scored]


def test_passages_are_encoded_as_in_colbert(colbert: Path, encoder: LateInteractionEncoder) -> None:
    tokens, vectors = stanford(colbert, PASSAGE)
    [encoded] = encoder.encode_passages([PASSAGE])
    np.testing.assert_allclose(encoded.vectors, vectors, atol=1e-5)
    assert encoded.vectors.dtype == np.float32
    assert encoded.windows == 1
    texts = [PASSAGE[start:end].lower() for start, end in encoded.spans]
    assert texts == [token.removeprefix("##") if token[:1] != "[" else "" for token in tokens]


def test_queries_are_encoded_as_in_colbert(colbert: Path, encoder: LateInteractionEncoder) -> None:
    tokens, vectors = stanford(colbert, QUERY, query=True)
    encoded = encoder.encode_query(QUERY)
    np.testing.assert_allclose(encoded.vectors, vectors, atol=1e-5)
    texts = [QUERY[start:end].lower() for start, end in encoded.spans]
    assert texts == [token if token[:1] != "[" else "" for token in tokens]
    assert texts.count("") == QUERY_LENGTH - 5


def test_batches_give_what_single_passages_give(encoder: LateInteractionEncoder) -> None:
    texts = ["Oslo lies on the sea.", LONG, "", PASSAGE, "…"]
    for text, encoded in zip(texts, encoder.encode_passages(texts), strict=True):
        [alone] = encoder.encode_passages([text])
        np.testing.assert_array_equal(alone.spans, encoded.spans)
        np.testing.assert_allclose(alone.vectors, encoded.vectors, atol=1e-5)
    assert encoder.encode_passages([]) == []


def test_every_word_of_a_long_passage_has_one_token(encoder: LateInteractionEncoder) -> None:
    [encoded] = encoder.encode_passages([LONG])
    words = [(start, end) for start, end in encoded.spans.tolist() if end]
    assert words == sorted(set(words))
    assert [LONG[start:end] for start, end in words] == LONG.replace(".", "").split()
    assert encoded.windows > 2
    assert (
        encoded.spans[:, 1] == 0
    ).sum() == 3 * encoded.windows  # [CLS], marker and [SEP] of each


def test_tokens_come_from_the_window_in_which_they_stand_further_inside(
    encoder: LateInteractionEncoder,
) -> None:
    [encoded] = encoder.encode_passages([LONG])
    windows = _windows(LONG, encoder._model().tokenizer, DOCUMENT_LENGTH - 3)
    assert len(windows) == encoded.windows
    candidates: dict[tuple[int, int], list[tuple[float, np.ndarray]]] = {}
    for start, end, _ in windows:
        [alone] = encoder.encode_passages([LONG[start:end]])
        for (first, last), vector in zip(alone.spans.tolist(), alone.vectors, strict=True):
            if last:
                before, behind = (
                    first if start else 10**6,
                    end - start - last if end < len(LONG) else 10**6,
                )
                candidates.setdefault((start + first, start + last), []).append(
                    (min(before, behind), vector)
                )
    assert any(len(of_token) > 1 for of_token in candidates.values())
    for span, vector in zip(encoded.spans.tolist(), encoded.vectors, strict=True):
        if span[1]:
            of_token = candidates[tuple(span)]
            taken = max(
                inside for inside, other in of_token if np.allclose(vector, other, atol=1e-5)
            )
            assert (
                taken >= max(inside for inside, _ in of_token) - max(map(len, WORDS)) - 2
            )  # windows end between words


TEXTS = st.text(
    st.sampled_from("ab é日本,.\n\u200b’") | st.characters(codec="utf-8", max_codepoint=0x3FF),
    max_size=160,
)


@settings(max_examples=40, deadline=None)
@given(
    text=TEXTS | st.lists(st.sampled_from([*WORDS, "x" * 30, "1628,"]), max_size=60).map(" ".join)
)
def test_nothing_is_cut_off(encoder: LateInteractionEncoder, text: str) -> None:
    """The characters that tokens stand for are the same, however many windows the text is read
    in.
    """
    wide = LateInteractionEncoder(encoder._model(), max_tokens=POSITIONS)
    [narrow], [wide_tokens] = encoder.encode_passages([text]), wide.encode_passages([text])
    offsets = encoder._model().tokenizer(
        text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    tokens = zip(offsets.tokens(), offsets["offset_mapping"], strict=True)
    expected = {
        at
        for token, (start, end) in tokens
        if token not in string.punctuation
        for at in range(start, end)
    }
    for encoded in (narrow, wide_tokens):
        characters = {at for start, end in encoded.spans.tolist() for at in range(start, end)}
        assert characters == {at for at in expected if not text[at].isspace()}


def test_the_limit_is_the_models_or_ones_own(
    colbert: Path, encoder: LateInteractionEncoder
) -> None:
    text = " ".join(WORDS[: DOCUMENT_LENGTH - 3])
    assert encoder.encode_passages([text])[0].windows == 1
    assert encoder.encode_passages([f"{text} oslo"])[0].windows == 2
    assert (
        LateInteractionEncoder(colbert, max_tokens=POSITIONS)
        .encode_passages([f"{text} oslo"])[0]
        .windows
        == 1
    )
    assert LateInteractionEncoder(colbert, max_tokens=10**6).encode_passages([LONG])[0].windows > 1
    with pytest.raises(InvalidInputError, match="at least 16 tokens"):
        LateInteractionEncoder(colbert, max_tokens=16).encode_passages([text])


def test_markers(encoder: LateInteractionEncoder, marked: Path) -> None:
    assert not encoder.has_finer_marker()
    np.testing.assert_array_equal(
        encoder.encode_query(QUERY, finer=True).vectors, encoder.encode_query(QUERY).vectors
    )
    two = LateInteractionEncoder(str(marked))
    assert two.has_finer_marker()
    coarse, finer = two.encode_query(QUERY), two.encode_query(QUERY, finer=True)
    np.testing.assert_allclose(coarse.vectors, encoder.encode_query(QUERY).vectors, atol=1e-6)
    np.testing.assert_array_equal(coarse.spans, finer.spans)
    assert not np.allclose(coarse.vectors[1], finer.vectors[1])
    np.testing.assert_allclose(
        two.encode_passages([PASSAGE])[0].vectors,
        encoder.encode_passages([PASSAGE])[0].vectors,
        atol=1e-6,
    )


def test_long_queries_are_read_whole(encoder: LateInteractionEncoder) -> None:
    query = " ".join(WORDS[:30])
    encoded = encoder.encode_query(query)
    assert [query[start:end] for start, end in encoded.spans if end] == WORDS[:30]


def test_texts_that_cannot_be(encoder: LateInteractionEncoder) -> None:
    with pytest.raises(InvalidInputError, match="passage must be a str"):
        encoder.encode_passages([3])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        encoder.encode_query("\ud800")


def test_constructors_load_nothing(encoder: LateInteractionEncoder) -> None:
    lazy = LateInteractionEncoder("no/such-model")
    assert isinstance(lazy, TokenEncoder)
    assert lazy._loaded is None
    code = "import sys, factoid; factoid.AnyGranularityRanker('no/such-model'); print('torch' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "False\n"
    )


def test_without_the_library_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    message = r"'sentence_transformers' is not installed\. Run: pip install \"factoid\[models\]\""
    with pytest.raises(MissingDependencyError, match=message) as raised:
        AnyGranularityRanker("some/model").rank("Where?", ["Here."])
    assert isinstance(raised.value.__cause__, ModuleNotFoundError)


@pytest.mark.network
def test_the_published_model_has_its_published_scores() -> None:
    """MaxSim by PyLate in float32, as the tests of Sentence Transformers hold it for this
    checkpoint, with the same texts.
    """
    texts = {
        "Venus is often called Earth's twin because of its similar size and proximity.": 12.79703,
        "Mars, known for its reddish appearance, is often referred to as the Red Planet.": 27.19449,
        "Jupiter, the largest planet in our solar system, has a prominent red spot.": 23.8495,
        "Saturn, famous for its rings, is sometimes mistaken for the Red Planet.": 24.56564,
    }
    ranker = AnyGranularityRanker("colbert-ir/colbertv2.0")
    hits = ranker.rank("Which planet is known as the Red Planet?", texts, "passage")
    assert {hit.unit.text: hit.score for hit in hits} == pytest.approx(texts, rel=1e-3)
    assert not ranker.encoder.has_finer_marker()
