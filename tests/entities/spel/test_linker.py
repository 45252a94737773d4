"""From the published files to mentions: with a model that has learned three entities, and with scripted predictions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from factoid.entities.spel import SpELLinker, VocabularyFiles
from factoid.entities.spel.model import LoadedModel, load_model
from factoid.entities.spel.predict import Prediction
from factoid.errors import InvalidInputError, UnreadableFileError
from tests.entities.spel import tiny_spel

pytest.importorskip("sacremoses")

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
        assert (mention.candidates[0].title, mention.candidates[0].score) == (mention.title, mention.score)
        scores = [candidate.score for candidate in mention.candidates]
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) <= 1 + 1e-6
        assert not {"|||O|||", "<pad>", ""} & {candidate.title for candidate in mention.candidates}


def test_several_texts_at_once_give_what_each_gives_alone(linker):
    texts = [*QUESTIONS, "", "Mira " * 300, " "]
    for text, mentions in zip(texts, linker.link_batch(texts), strict=True):
        assert read(text, mentions) == read(text, linker.link(text))
    assert linker.link_batch([]) == []


def test_documents_of_any_length_are_read_in_windows(linker):
    text = "the letters of Ada Lovelace about Mount Etna . When was Mira seen near our town ? " * 80
    expected = [("Ada Lovelace", "Ada Lovelace"), ("Mount Etna", "Mount Etna"), ("Mira", "Mira (star)")] * 80
    assert read(text, linker.link_document(text)) == expected
    assert linker._load().limit == 512
    assert read(text, linker.link(text)) == expected  # too long for one pass


def test_files_may_lie_in_several_places(spel_folder, tmp_path):
    tiny_spel.make_tokenizer(tmp_path)
    files = VocabularyFiles(*(spel_folder / f"{name}.txt" for name in ("aida", "enwiki_20230827", "out_of_domain")))
    for vocabulary in (files, str(spel_folder)):
        linker = SpELLinker.from_checkpoint(
            spel_folder / tiny_spel.CHECKPOINT, vocabulary, tokenizer=tmp_path, device="cpu", batch_size=2
        )
        assert [read(text, linker.link(text)) for text in QUESTIONS] == list(QUESTIONS.values())


@settings(max_examples=60, deadline=None)
@example("😀 Mira 東京 שלום 👩‍👩‍👧‍👦 🇳🇴")
@example("Mira\x00\x01\x1f\x7f\x85 e\u0301 Mira \u200d\u202e")
@example("<s> Mira </s> <pad> <mask> Mira <unk>")
@example("Mira" * 1000)
@given(
    st.text(max_size=60) | st.lists(st.sampled_from(["Mira", "Ada Lovelace", " ", "'s", "😀", "\n", ". "])).map("".join)
)
def test_any_text_gives_spans_in_order_that_begin_and_end_with_no_space(linker, text):
    for mentions in (linker.link(text), linker.link_document(text)):
        at = 0
        for mention in mentions:
            assert at <= mention.start < mention.end <= len(text)
            form = text[mention.start : mention.end]
            assert form == form.strip()
            at = mention.end


def test_what_is_no_text_and_options_out_of_range_are_refused(linker, tmp_path):
    for link in (linker.link, linker.link_document):
        with pytest.raises(InvalidInputError):
            link("half \ud83d")
    with pytest.raises(InvalidInputError, match="expected a list of texts"):
        linker.link_batch("Mira")
    for options in ({"top_k": 0}, {"batch_size": 0}):
        with pytest.raises(InvalidInputError, match="must be at least 1"):
            SpELLinker(tmp_path, **options)


def test_nothing_is_read_before_the_first_text(tmp_path):
    linker = SpELLinker(tmp_path / "none")
    with pytest.raises(UnreadableFileError, match="expected a folder that factoid convert-spel wrote"):
        linker.link("Mira")
    for name in ("a.pt", "b.pt"):
        (tmp_path / name).touch()
    with pytest.raises(UnreadableFileError, match=r"found: a\.pt, b\.pt"):
        SpELLinker(tmp_path).link("Mira")


def test_files_that_do_not_belong_to_the_checkpoint_are_refused(spel_folder, tmp_path):
    checkpoint = spel_folder / tiny_spel.CHECKPOINT
    with pytest.raises(InvalidInputError, match="5 entries, but the checkpoint's output embedding has 10 rows: enwiki"):
        SpELLinker.from_checkpoint(checkpoint, VocabularyFiles(spel_folder / "aida.txt"), tokenizer=spel_folder).link(
            "x"
        )
    tokenizer = tiny_spel.make_tokenizer()
    tokenizer.add_tokens(["another"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InvalidInputError, match="the tokenizer has 401 tokens, but the checkpoint knows 400"):
        SpELLinker.from_checkpoint(checkpoint, spel_folder, tokenizer=tmp_path).link("Mira")


def test_threads_share_a_linker_that_loads_once(spel_folder, monkeypatch):
    load = Mock(wraps=load_model)
    monkeypatch.setattr("factoid.entities.spel.linker.load_model", load)
    shared = SpELLinker(spel_folder, device="cpu")
    texts = list(QUESTIONS) * 8
    with ThreadPoolExecutor(8) as pool:
        linked = [read(text, mentions) for text, mentions in zip(texts, pool.map(shared.link, texts), strict=True)]
    assert linked == list(QUESTIONS.values()) * 8
    assert load.call_count == 1


# What happens to a text before and after the model, with predictions that are written down

OUTSIDE = Prediction((0,), (0.9,))


class Scripted:
    """Predicts by the text of a token, and remembers what it was asked."""

    def __init__(self, tokenizer, script):
        self.tokenizer, self.script, self.asked = tokenizer, script, []

    def predict(self, sequences):
        self.asked += [list(sequence) for sequence in sequences]
        return [[self.script.get(self._text(token), OUTSIDE) for token in sequence] for sequence in sequences]

    def _text(self, token):
        return self.tokenizer.decode([token], skip_special_tokens=False).strip()


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    """Return a linker whose model predicts by token, and the model."""

    def make(limit=512, **script):
        predictor = Scripted(tiny_spel.make_tokenizer(), script)
        vocabulary = ["|||O|||", "<pad>", "United_States", "", "Mira_(star)"]
        model = LoadedModel(predictor, vocabulary, predictor.tokenizer, limit)
        monkeypatch.setattr("factoid.entities.spel.linker.load_model", Mock(return_value=model))
        return SpELLinker(tmp_path), predictor

    return make


def test_what_is_no_entity_and_predictions_of_special_tokens_are_not_reported(scripted):
    def every(entity):
        return dict.fromkeys(["M", "ira", "Mira"], Prediction((entity,), (0.8,)))

    for entity in (0, 1, 3):  # outside, padding, the empty entry
        linker, _ = scripted(**every(entity))
        assert linker.link("Mira") == linker.link_document("Mira") == []
    linker, _ = scripted(**every(4), **{"<s>": Prediction((4,), (0.1,)), "</s>": Prediction((4,), (0.1,))})
    (mention,) = linker.link("Mira")
    assert (mention.start, mention.end, mention.score) == (0, 4, pytest.approx(0.8))


def test_one_pass_changes_no_character_and_documents_are_plain(scripted):
    linker, model = scripted()
    text = "a… “b”\u00a0c \n"
    linker.link(text)
    linker.link_document(text)
    # Documents also lose white space at the end.
    assert [model.tokenizer.decode(ids) for ids in model.asked] == [text, 'a. "b" c']


def test_only_documents_keep_abbreviations_whole(scripted):
    unsure = Prediction((0, 2), (0.5, 0.4))
    script = {**dict.fromkeys(["", "U", "S"], Prediction((2,), (0.9,))), ".": unsure}  # "" is the space before
    linker, _ = scripted(**script)
    text = "the U.S. too"
    # "U.S" lists its entity in each subword; the last stop is a word of its own in one pass, and names nothing.
    assert read(text, linker.link(text)) == [("U.S", "United States")]
    assert read(text, linker.link_document(text)) == [("U.S.", "United States")]


def test_windows_hold_254_tokens_and_special_tokens_at_the_ends_of_the_text_alone(scripted):
    linker, model = scripted()
    linker.link_document(" ?" * 233)
    assert [len(tokens) for tokens in model.asked] == [235, 1]  # the second lies within the first
    model.asked.clear()
    linker.link_document(" ?" * 500)
    mark = model.asked[0][1]
    assert [len(tokens) for tokens in model.asked] == [254, 254, 34]
    assert [(tokens[0], tokens[-1]) for tokens in model.asked] == [(0, mark), (mark, mark), (mark, 2)]


def test_one_pass_reads_up_to_the_models_limit_and_windows_begin_after_that(scripted):
    linker, model = scripted(limit=300)
    linker.link(" ?" * 298)  # each is a token, and there are <s> and </s>
    linker.link(" ?" * 299)
    assert [len(tokens) for tokens in model.asked][:2] == [300, 254]
