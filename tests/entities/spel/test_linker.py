"""From the published files to mentions, with a model that has learned three entities."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from factoid.entities.spel import linker as module
from factoid.entities.spel.linker import SpELLinker
from factoid.entities.spel.model import SpELModel
from factoid.errors import InvalidInputError, UnreadableFileError

QUESTIONS = {
    "who was Ada Lovelace?": [("Ada Lovelace", "Ada Lovelace")],
    "When did Mount Etna erupt again? How far is Mira from Ada Lovelace's town": [
        ("Mount Etna", "Mount Etna"),
        ("Mira", "Mira (star)"),
        ("Ada Lovelace", "Ada Lovelace"),
    ],
    "where is our town": [],
    "What was born in Mira": [("Mira", "Mira (star)")],
}


def read(text, mentions):
    return [(text[mention.start : mention.end], mention.title) for mention in mentions]


@pytest.mark.parametrize("text", QUESTIONS)
def test_questions_give_spans_and_titles(linker, text):
    mentions = linker.link(text)
    assert read(text, mentions) == QUESTIONS[text]
    for mention in mentions:
        assert 0.8 < mention.score <= 1.0
        assert (mention.candidates[0].title, mention.candidates[0].score) == (
            mention.title,
            mention.score,
        )
        scores = [candidate.score for candidate in mention.candidates]
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) <= 1 + 1e-6
        assert not {"|||O|||", "<pad>", ""} & {candidate.title for candidate in mention.candidates}


def test_texts_of_any_length_are_read_in_parts(linker):
    text = "the letters of Ada Lovelace about Mount Etna . When was Mira seen near our town ? " * 80
    expected = [
        ("Ada Lovelace", "Ada Lovelace"),
        ("Mount Etna", "Mount Etna"),
        ("Mira", "Mira (star)"),
    ] * 80
    assert read(text, linker.link(text)) == expected


@settings(max_examples=60, deadline=None)
@example("😀 Mira 東京 שלום 👩‍👩‍👧‍👦 🇳🇴")
@example("Mira\x00\x01\x1f\x7f\x85 e\u0301 Mira \u200d\u202e")
@example("<s> Mira </s> <pad> <mask> Mira <unk>")
@example("Mira" * 1000)
@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(["Mira", "Ada Lovelace", " ", "'s", "😀", "\n", ". "])).map("".join)
)
def test_any_text_gives_spans_in_order_that_begin_and_end_with_no_space(linker, text):
    at = 0
    for mention in linker.link(text):
        assert at <= mention.start < mention.end <= len(text)
        form = text[mention.start : mention.end]
        assert form == form.strip()
        at = mention.end


def test_what_cannot_be(linker, tmp_path):
    with pytest.raises(InvalidInputError):
        linker.link("half \ud83d")
    with pytest.raises(InvalidInputError, match="must be at least 1"):
        SpELLinker(tmp_path, top_k=0)
    nothing = SpELLinker(tmp_path / "none")  # is read with the first text
    with pytest.raises(
        UnreadableFileError, match=r"expected one \.pt checkpoint of SpEL in .*, found none"
    ):
        nothing.link("Mira")


def test_threads_share_a_linker_that_loads_once(spel_folder, monkeypatch):
    load = Mock(wraps=SpELModel)
    monkeypatch.setattr(module, "SpELModel", load)
    shared = SpELLinker(spel_folder, device="cpu")
    texts = list(QUESTIONS) * 8
    with ThreadPoolExecutor(8) as pool:
        linked = [
            read(text, mentions)
            for text, mentions in zip(texts, pool.map(shared.link, texts), strict=True)
        ]
    assert linked == list(QUESTIONS.values()) * 8
    assert load.call_count == 1


def test_what_is_no_entity_and_predictions_of_special_tokens_are_not_reported(linker, monkeypatch):
    linker.link("Mira")

    def predict(entity):
        special, inner = {6: 0.1}, {entity: 0.8}
        monkeypatch.setattr(
            linker._loaded,
            "predict",
            lambda tokens: [special, *[inner] * (len(tokens) - 2), special],
            raising=False,
        )
        return linker.link("Mira")

    for entity in (0, 1, 7):  # outside, padding, the empty entry
        assert predict(entity) == []
    (mention,) = predict(8)
    assert (mention.start, mention.end, mention.title, mention.score) == (
        0,
        4,
        "Mira (star)",
        pytest.approx(0.8),
    )
