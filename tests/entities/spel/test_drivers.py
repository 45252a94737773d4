"""What the two drivers do to a text before and after the model, with predictions that are written down."""

from __future__ import annotations

import pytest

from factoid.entities.spel import SpELLinker
from factoid.entities.spel import linker as module
from factoid.entities.spel.resolve import Prediction
from factoid.entities.spel.source import LoadedModel
from factoid.entities.spel.vocabulary import Vocabulary
from tests.entities.spel import tiny_spel

pytest.importorskip("tokenizers")
pytest.importorskip("sacremoses")

OUTSIDE = Prediction((0,), (0.9,))
ENTRIES = ("|||O|||", "<pad>", "United_States", "", "Mira_(star)")


class Scripted:
    """Predicts by the text of a token, and remembers what it was asked."""

    def __init__(self, tokenizer, script):
        self.tokenizer = tokenizer
        self.script = script
        self.asked = []

    def predict(self, sequences):
        self.asked += [list(sequence) for sequence in sequences]
        return [[self.script.get(self._text(token), OUTSIDE) for token in sequence] for sequence in sequences]

    def _text(self, token):
        return self.tokenizer.decode([token], skip_special_tokens=False).strip()


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    """Return a linker whose model predicts by token, and the model."""

    def make(limit=512, **script):
        tokenizer = tiny_spel.make_tokenizer()
        predictor = Scripted(tokenizer, script)
        model = LoadedModel(predictor, Vocabulary(ENTRIES), tokenizer, limit)
        monkeypatch.setattr(module, "load_model", lambda *_given, **_options: model)
        monkeypatch.setattr(module.ModelFiles, "in_folder", lambda _folder: None)
        return SpELLinker(tmp_path), predictor

    return make


def surfaces(text, mentions):
    return [(text[one.start : one.end], one.title) for one in mentions]


def every(entity, probability=0.8):
    return dict.fromkeys(["M", "ira", "Mira", "U", "S", ".", "…"], Prediction((entity,), (probability,)))


def test_special_tokens_are_asked_for_and_their_predictions_dropped(scripted):
    linker, model = scripted(**every(4), **{"<s>": Prediction((4,), (0.1,)), "</s>": Prediction((4,), (0.1,))})
    (mention,) = linker.link("Mira")
    assert (mention.start, mention.end, mention.score) == (0, 4, pytest.approx(0.8))
    assert (model.asked[0][0], model.asked[0][-1]) == (0, 2)


@pytest.mark.parametrize("entity", [0, 1, 3])
def test_outside_padding_and_the_empty_entry_are_not_reported(scripted, entity):
    linker, _ = scripted(**every(entity))
    assert linker.link("Mira") == linker.link_document("Mira") == []


def test_one_pass_changes_no_character_and_documents_are_plain(scripted):
    linker, model = scripted()
    linker.link("a… “b”\u00a0c \n")
    linker.link_document("a… “b”\u00a0c \n")
    asked, document = (model.tokenizer.decode(ids) for ids in model.asked)
    assert asked == "a… “b”\u00a0c \n"
    assert document == 'a. "b" c'  # and without white space at the end


def test_only_documents_keep_abbreviations_whole(scripted):
    unsure = Prediction((0, 2), (0.5, 0.4))
    script = {**dict.fromkeys(["", "U", "S"], Prediction((2,), (0.9,))), ".": unsure}  # "" is the space before
    linker, _ = scripted(**script)
    text = "the U.S. too"
    # "U.S" lists its entity in each subword; the last stop is a word of its own in one pass, and names nothing.
    assert surfaces(text, linker.link(text)) == [("U.S", "United States")]
    assert surfaces(text, linker.link_document(text)) == [("U.S.", "United States")]


def test_windows_hold_254_tokens_and_special_tokens_at_the_ends_of_the_text_alone(scripted):
    linker, model = scripted()
    linker.link_document(" ?" * 500)
    tokens = model.asked
    assert [len(each) for each in tokens] == [254, 254, 34]
    assert [each[0] for each in tokens] == [0, tokens[0][1], tokens[0][1]]
    assert [each[-1] for each in tokens] == [tokens[0][1], tokens[0][1], 2]
    assert tokens[0][-20:] == tokens[1][:20]


def test_a_text_of_no_words_asks_nothing(scripted):
    linker, model = scripted()
    assert linker.link(" \n") == linker.link_document(" \n") == []
    assert model.asked == []


def test_a_text_over_the_models_limit_is_read_in_windows(scripted):
    linker, model = scripted(limit=300)
    linker.link_batch([" ?" * 298, " ?" * 299])
    assert sorted(len(each) for each in model.asked) == [67, 254, 300]


def test_a_line_end_is_no_part_of_a_mention(scripted):
    linker, _ = scripted(**every(4), **{"": Prediction((4,), (0.8,))})
    text = "letters\nMira"
    assert surfaces(text, linker.link(text)) == [("Mira", "Mira (star)")]
