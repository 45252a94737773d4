"""From the published files to mentions, with a model that has learned three entities."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.entities.mention import BatchEntityLinker
from factoid.entities.spel import SpELLinker, SurfaceCandidates, VocabularyFiles
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
    return [(text[one.start : one.end], one.title) for one in mentions]


@pytest.mark.parametrize("text", QUESTIONS)
def test_questions_give_spans_and_titles(linker, text):
    mentions = linker.link(text)
    assert read(text, mentions) == QUESTIONS[text]
    assert all(0.8 < one.score <= 1.0 for one in mentions)
    for one in mentions:
        assert one.candidates[0].title == one.title
        assert one.candidates[0].score == one.score
        scores = [candidate.score for candidate in one.candidates]
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) <= 1 + 1e-6
        assert not {"|||O|||", "<pad>", ""} & {candidate.title for candidate in one.candidates}


def test_several_texts_at_once_give_what_each_gives_alone(linker):
    texts = [*QUESTIONS, "", "Mira " * 300, " "]
    assert isinstance(linker, BatchEntityLinker)
    for text, mentions in zip(texts, linker.link_batch(texts), strict=True):
        assert read(text, mentions) == read(text, linker.link(text))
    assert linker.link_batch([]) == []


def test_documents_of_any_length_are_read_in_windows(linker):
    sentence = "the letters of Ada Lovelace about Mount Etna . When was Mira seen near our town ? "
    text = sentence * 80
    expected = [("Ada Lovelace", "Ada Lovelace"), ("Mount Etna", "Mount Etna"), ("Mira", "Mira (star)")] * 80
    assert read(text, linker.link_document(text)) == expected
    assert read(text, linker.link(text)) == expected  # too long for one pass
    spans = [(one.start, one.end) for one in linker.link(text)]
    assert spans == sorted(spans)


def test_one_pass_reads_up_to_512_tokens_and_windows_begin_after_that(linker, spel_folder, monkeypatch):
    from factoid.entities.spel import linker as module

    called = []
    monkeypatch.setattr(module, "plain_characters", lambda text: called.append(len(text)) or text)
    linker.link(" ?" * 510)  # each is a token, and there are <s> and </s>
    assert not called
    linker.link(" ?" * 511)
    assert len(called) == 1


def test_documents_are_read_with_plain_characters_and_spans_are_of_the_text_as_given(linker):
    text = "\ufeff“the letters” — who\u00a0was Ada\u00a0Lovelace’s town… \n"
    assert ("Ada\u00a0Lovelace", "Ada Lovelace") in read(text, linker.link_document(text))


def test_a_converted_title_is_given_with_spaces_and_redirected(spel_folder):
    linker = SpELLinker(spel_folder, device="cpu", titles={"Mira_(star)": "Omicron_Ceti", "Mount Etna": "Etna"})
    text = "where is Mira from Mount Etna"
    assert read(text, linker.link(text)) == [("Mira", "Omicron Ceti"), ("Mount Etna", "Etna")]


def test_candidate_sets_restrict_mentions(spel_folder):
    sets = SurfaceCandidates({"mira": ["Comet"], "mount etna": ["Unknown volcano"]}, lower_case=True)
    linker = SpELLinker(spel_folder, device="cpu", candidates=sets)
    text = "who was Ada Lovelace ? where is Mira from Mount Etna"
    mentions = linker.link(text)
    assert read(text, mentions) == [("Mira", "Comet"), ("Mount Etna", "Mount Etna")]
    assert mentions[0].score < 0.2
    assert mentions[0].candidates[0].title == "Mira (star)"


def test_top_k_of_one_keeps_one_candidate(spel_folder):
    linker = SpELLinker(spel_folder, device="cpu", top_k=1)
    text = "who was Ada Lovelace?"
    assert read(text, linker.link(text)) == QUESTIONS[text]
    assert len(linker.link(text)[0].candidates) == 1


def test_more_candidates_than_entities_are_no_error(spel_folder):
    linker = SpELLinker(spel_folder, device="cpu", top_k=50)
    assert len(linker.link("who was Ada Lovelace?")[0].candidates) == len(tiny_spel.ENTRIES) - 3


def test_files_may_lie_in_several_places(spel_folder, tmp_path):
    tiny_spel.make_tokenizer(tmp_path)
    files = VocabularyFiles(*(spel_folder / f"{name}.txt" for name in ("aida", "enwiki_20230827", "out_of_domain")))
    for vocabulary in (files, str(spel_folder)):
        linker = SpELLinker.from_checkpoint(
            spel_folder / tiny_spel.CHECKPOINT, vocabulary, tokenizer=tmp_path, device="cpu", batch_size=2
        )
        for text, expected in QUESTIONS.items():
            assert read(text, linker.link(text)) == expected


TEXTS = [
    "",
    " \n\t",
    "...",
    "?!,;:-()[]{}",
    "😀😀 Mira 👩‍👩‍👧‍👦 🇳🇴",
    "مرحبا Mira שלום",
    "東京は Mira です。",
    "Mira\x00\x01\x1f\x7f\x85 town",
    "e\u0301 Mira \u200d\u202e",
    "<s> Mira </s> <pad> <mask> Mira <unk>",
    "Mira" * 1000,
    "x" * 20_000,
]


@pytest.mark.parametrize("text", TEXTS)
def test_odd_texts_give_spans_within_them(linker, text):
    for mentions in (linker.link(text), linker.link_document(text)):
        assert all(0 <= one.start < one.end <= len(text) for one in mentions)
        assert all(left.end <= right.start for left, right in pairwise(mentions))


def test_a_name_among_emoji_and_other_scripts_is_found_where_it_is(linker):
    for text in ("😀 Mira 東京", "שלום Mira", "东 Mira 😀"):
        assert ("Mira", "Mira (star)") in read(text, linker.link(text))


def test_ten_thousand_words_are_linked(linker):
    text = "who was Ada Lovelace ? " * 2000
    assert read(text, linker.link(text)) == [("Ada Lovelace", "Ada Lovelace")] * 2000


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=60) | st.lists(st.sampled_from(["Mira", "Ada Lovelace", " ", "'s", "😀", "\n", ". "])).map("".join)
)
def test_any_text_gives_spans_in_order_that_begin_and_end_with_no_space(linker, text):
    for mentions in (linker.link(text), linker.link_document(text)):
        at = 0
        for one in mentions:
            assert at <= one.start < one.end <= len(text)
            assert text[one.start : one.end].strip()[0] == text[one.start]
            at = one.end


@pytest.mark.parametrize("method", ["link", "link_document"])
@pytest.mark.parametrize("text", ["half \ud83d", None, b"bytes", 3])
def test_what_is_no_text_is_refused(linker, method, text):
    with pytest.raises(InvalidInputError):
        getattr(linker, method)(text)


@pytest.mark.parametrize("options", [{"top_k": 0}, {"batch_size": 0}])
def test_options_out_of_range_are_refused(tmp_path, options):
    with pytest.raises(InvalidInputError, match="top_k >= 1"):
        SpELLinker(tmp_path, **options)


def test_nothing_is_read_before_the_first_text(tmp_path):
    linker = SpELLinker(tmp_path / "none")
    with pytest.raises(UnreadableFileError, match="expected a folder that factoid convert-spel wrote"):
        linker.link("Mira")
    (tmp_path / "a.pt").touch()
    (tmp_path / "b.pt").touch()
    with pytest.raises(UnreadableFileError, match=r"found: a\.pt, b\.pt"):
        SpELLinker(tmp_path).link("Mira")


def test_a_vocabulary_of_another_length_is_refused(spel_folder, tmp_path):
    tiny_spel.write_vocabulary(tmp_path)
    (tmp_path / "enwiki_20230827.txt").unlink()
    linker = SpELLinker.from_checkpoint(spel_folder / tiny_spel.CHECKPOINT, tmp_path, tokenizer=spel_folder)
    with pytest.raises(FactoidError, match="8 entries, but the checkpoint's output embedding has 10 rows: enwiki"):
        linker.link("Mira")


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(spel_folder, tmp_path):
    tokenizer = tiny_spel.make_tokenizer()
    tokenizer.add_tokens(["another"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    linker = SpELLinker.from_checkpoint(spel_folder / tiny_spel.CHECKPOINT, spel_folder, tokenizer=tmp_path)
    with pytest.raises(InvalidInputError, match="the tokenizer has 401 tokens, but the checkpoint knows 400"):
        linker.link("Mira")


@pytest.mark.parametrize("device", ["cuda:99", "banana", "meta"])
def test_a_device_that_is_not_there_is_refused(spel_folder, device):
    with pytest.raises(InvalidInputError, match=r"expected a device that PyTorch can use here \(cpu"):
        SpELLinker(spel_folder, device=device).link("Mira")


def test_a_text_is_no_batch(linker):
    with pytest.raises(InvalidInputError, match="expected a list of texts, got the string 'Mira': use link"):
        linker.link_batch("Mira")


def test_threads_share_a_linker_that_loads_once(spel_folder, monkeypatch):
    from factoid.entities.spel import linker as module

    loaded = []
    load = module.load_model
    monkeypatch.setattr(module, "load_model", lambda *given, **options: loaded.append(1) or load(*given, **options))
    shared = SpELLinker(spel_folder, device="cpu")
    texts = list(QUESTIONS) * 8
    with ThreadPoolExecutor(8) as pool:
        for text, mentions in zip(texts, pool.map(shared.link, texts), strict=True):
            assert read(text, mentions) == QUESTIONS[text]
    assert len(loaded) == 1


def test_a_linker_can_be_handed_to_another_process(spel_folder):
    linker = SpELLinker(spel_folder, device="cpu", top_k=3)
    text = "who was Ada Lovelace?"
    linker.link(text)
    copy = pickle.loads(pickle.dumps(linker))
    assert copy.top_k == 3
    assert copy.link(text) == linker.link(text)


def test_importing_it_imports_no_model_library():
    code = "import sys, factoid.entities.spel; print({'torch', 'transformers', 'tokenizers', 'sacremoses'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
