"""From the published files to mentions: with a model that has learned three entities, and with scripted predictions."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from factoid.entities.spel import CandidateSets, SpELLinker, VocabularyFiles
from factoid.entities.spel.model import LoadedModel, ModelFiles
from factoid.entities.spel.predict import Prediction
from factoid.entities.spel.vocabulary import Vocabulary
from factoid.errors import FactoidError, InvalidInputError, UnreadableFileError
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
    sentence = "the letters of Ada Lovelace about Mount Etna . When was Mira seen near our town ? "
    text = sentence * 80
    expected = [("Ada Lovelace", "Ada Lovelace"), ("Mount Etna", "Mount Etna"), ("Mira", "Mira (star)")] * 80
    assert read(text, linker.link_document(text)) == expected
    assert read(text, linker.link(text)) == expected  # too long for one pass
    spans = [(mention.start, mention.end) for mention in linker.link(text)]
    assert spans == sorted(spans)


def test_candidate_sets_restrict_mentions_and_titles_are_redirected(spel_folder):
    sets = CandidateSets({"mira": ["Comet"], "mount etna": ["Unknown volcano"]}, "lower_case")
    titles = {"Mount Etna": "Etna", "Mira_(star)": "Omicron_Ceti"}
    linker = SpELLinker(spel_folder, device="cpu", candidates=sets, titles=titles)
    text = "who was Ada Lovelace ? where is Mira from Mount Etna"
    mentions = linker.link(text)
    assert read(text, mentions) == [("Mira", "Comet"), ("Mount Etna", "Etna")]
    assert mentions[0].score < 0.2
    assert mentions[0].candidates[0].title == "Omicron Ceti"


def test_files_may_lie_in_several_places(spel_folder, tmp_path):
    tiny_spel.make_tokenizer(tmp_path)
    files = VocabularyFiles(*(spel_folder / f"{name}.txt" for name in ("aida", "enwiki_20230827", "out_of_domain")))
    for vocabulary in (files, str(spel_folder)):
        linker = SpELLinker.from_checkpoint(
            spel_folder / tiny_spel.CHECKPOINT, vocabulary, tokenizer=tmp_path, device="cpu", batch_size=2
        )
        for text, expected in QUESTIONS.items():
            assert read(text, linker.link(text)) == expected


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
            assert text[mention.start : mention.end].strip()[0] == text[mention.start]
            at = mention.end


def test_what_is_no_text_and_options_out_of_range_are_refused(linker, tmp_path):
    for link in (linker.link, linker.link_document):
        with pytest.raises(InvalidInputError):
            link("half \ud83d")
    with pytest.raises(InvalidInputError, match="expected a list of texts"):
        linker.link_batch("Mira")
    for options in ({"top_k": 0}, {"batch_size": 0}):
        with pytest.raises(InvalidInputError, match="top_k="):
            SpELLinker(tmp_path, **options)


def test_nothing_is_read_before_the_first_text(tmp_path):
    linker = SpELLinker(tmp_path / "none")
    with pytest.raises(UnreadableFileError, match="expected a folder that factoid convert-spel wrote"):
        linker.link("Mira")
    (tmp_path / "a.pt").touch()
    (tmp_path / "b.pt").touch()
    with pytest.raises(UnreadableFileError, match=r"found: a\.pt, b\.pt"):
        SpELLinker(tmp_path).link("Mira")


def test_files_that_do_not_belong_to_the_checkpoint_are_refused(spel_folder, tmp_path):
    checkpoint = spel_folder / tiny_spel.CHECKPOINT
    tiny_spel.write_vocabulary(tmp_path)
    (tmp_path / "enwiki_20230827.txt").unlink()
    with pytest.raises(FactoidError, match="8 entries, but the checkpoint's output embedding has 10 rows: enwiki"):
        SpELLinker.from_checkpoint(checkpoint, tmp_path, tokenizer=spel_folder).link("Mira")
    tokenizer = tiny_spel.make_tokenizer()
    tokenizer.add_tokens(["another"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InvalidInputError, match="the tokenizer has 401 tokens, but the checkpoint knows 400"):
        SpELLinker.from_checkpoint(checkpoint, spel_folder, tokenizer=tmp_path).link("Mira")


def test_threads_share_a_linker_that_loads_once(spel_folder, monkeypatch):
    loads = []
    load = ModelFiles.load
    monkeypatch.setattr(ModelFiles, "load", lambda *files, **options: loads.append(1) or load(*files, **options))
    shared = SpELLinker(spel_folder, device="cpu")
    texts = list(QUESTIONS) * 8
    with ThreadPoolExecutor(8) as pool:
        for text, mentions in zip(texts, pool.map(shared.link, texts), strict=True):
            assert read(text, mentions) == QUESTIONS[text]
    assert len(loads) == 1


def test_a_linker_can_be_handed_to_another_process(spel_folder):
    linker = SpELLinker(spel_folder, device="cpu", top_k=3)
    text = "who was Ada Lovelace?"
    assert linker._load().limit == 512
    copy = pickle.loads(pickle.dumps(linker))
    assert copy.top_k == 3
    assert copy.link(text) == linker.link(text)


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
        tokenizer = tiny_spel.make_tokenizer()
        predictor = Scripted(tokenizer, script)
        vocabulary = Vocabulary(("|||O|||", "<pad>", "United_States", "", "Mira_(star)"))
        model = LoadedModel(predictor, vocabulary, tokenizer, limit)
        monkeypatch.setattr(ModelFiles, "load", lambda *_files, **_options: model)
        return SpELLinker(tmp_path), predictor

    return make


def every(entity, probability=0.8):
    return dict.fromkeys(["M", "ira", "Mira", "U", "S", ".", "…"], Prediction((entity,), (probability,)))


def test_what_is_no_entity_and_predictions_of_special_tokens_are_not_reported(scripted):
    for entity in (0, 1, 3):  # outside, padding, the empty entry
        linker, _ = scripted(**every(entity))
        assert linker.link("Mira") == linker.link_document("Mira") == []
    linker, _ = scripted(**every(4), **{"<s>": Prediction((4,), (0.1,)), "</s>": Prediction((4,), (0.1,))})
    (mention,) = linker.link("Mira")
    assert (mention.start, mention.end, mention.score) == (0, 4, pytest.approx(0.8))


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
    assert read(text, linker.link(text)) == [("U.S", "United States")]
    assert read(text, linker.link_document(text)) == [("U.S.", "United States")]


def test_windows_hold_254_tokens_and_special_tokens_at_the_ends_of_the_text_alone(scripted):
    linker, model = scripted()
    linker.link_document(" ?" * 233)
    assert [len(tokens) for tokens in model.asked] == [235, 1]  # the second lies within the first
    model.asked.clear()
    linker.link_document(" ?" * 500)
    first, second, third = model.asked
    assert [len(first), len(second), len(third)] == [254, 254, 34]
    assert [first[0], second[0], third[0]] == [0, first[1], first[1]]
    assert [first[-1], second[-1], third[-1]] == [first[1], first[1], 2]
    assert first[-20:] == second[:20]


def test_one_pass_reads_up_to_the_models_limit_and_windows_begin_after_that(scripted):
    linker, model = scripted(limit=300)
    linker.link(" ?" * 298)  # each is a token, and there are <s> and </s>
    assert [len(tokens) for tokens in model.asked] == [300]
    linker.link(" ?" * 299)
    assert len(model.asked[1]) == 254
