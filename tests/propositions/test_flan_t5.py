from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from factoid.propositions import NoPropositions, flan_t5
from factoid.propositions.flan_t5 import FlanT5Propositionizer
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompting.prompt import passage_input
from tests.propositions.tiny_t5 import CITIES, LIMIT, LONG, REFUSED, SENTENCES, STUCK, about, facts, unit

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="module", params=["transformers", "ctranslate2"])
def engine(request):
    if request.param == "ctranslate2":
        pytest.importorskip("ctranslate2")
    return {"engine": request.param, "device": "cpu", "dtype": "float32"}


@pytest.fixture(scope="module")
def tiny(tiny_t5, engine):
    return FlanT5Propositionizer(tiny_t5, batch_tokens=80, **engine)


@pytest.fixture
def batches(tiny, monkeypatch):
    """The inputs of each batch that is generated, as text."""
    loaded = tiny._load()
    seen: list[list[str]] = []
    generate = loaded.generate

    def spy(inputs, max_new_tokens):
        seen.append([loaded.tokenizer.decode(tokens, skip_special_tokens=True) for tokens in inputs])
        return generate(inputs, max_new_tokens)

    monkeypatch.setattr(loaded, "generate", spy)
    monkeypatch.setattr(loaded, "workers", 1)
    return seen


def test_results_are_streamed_by_batches_of_similar_length_and_returned_in_order(tiny, batches):
    passages = [unit(SENTENCES[0]), LONG, about("Oslo"), about("Pisa"), about("Lima")]
    expected = [[SENTENCES[0]], SENTENCES, facts("Oslo"), facts("Pisa"), facts("Lima")]
    results = list(tiny.stream(passages))
    assert dict(results) == dict(enumerate(expected))
    assert [[len(text.split()) for text in batch] for batch in batches] == [[12, 12], [12, 9], [9, 9], [9, 9], [9]]
    assert tiny.propositionize(passages) == expected


def test_batches_engines_and_drafts_agree_in_float32(tiny, tiny_t5, engine):
    passages = [about(city) for city in CITIES] + [unit(sentence) for sentence in SENTENCES] + [LONG, STUCK, REFUSED]
    together = FlanT5Propositionizer(tiny_t5, **engine).propositionize(passages)
    assert together == tiny.propositionize(passages)
    assert together == [tiny.propositionize([passage])[0] for passage in passages]
    plain = FlanT5Propositionizer(tiny_t5, engine="transformers", device="cpu", copy=False)
    assert together == plain.propositionize(passages)


def test_an_output_that_loops_keeps_what_it_said_once(tiny):
    [texts] = tiny.propositionize([STUCK])
    assert set(texts) == {"Pisa has a lot."}
    assert 3 <= len(texts) <= 16  # of a hundred that 512 tokens hold


def test_a_long_passage_is_cut_at_sentence_ends(tiny, batches):
    assert tiny.propositionize([LONG]) == [SENTENCES]
    assert {text for batch in batches for text in batch} == {passage_input(unit(sentence)) for sentence in SENTENCES}


def test_sentences_and_headings_without_end_are_cut_between_words_and_left_out(tiny, batches):
    words = "Pisa has a Lima has a Oslo has a Kyoto".split()
    tiny.propositionize([unit("\n ".join(words))])
    contents = [text.partition("Content: ")[2] for batch in batches for text in batch]
    assert sorted(" ".join(contents).split()) == sorted(words)
    assert all(len(text.split()) + 1 <= LIMIT for batch in batches for text in batch)
    batches.clear()
    assert tiny.propositionize([unit(SENTENCES[0], title="Pisa " * 30, section="Lima " * 30)]) == [[SENTENCES[0]]]
    assert batches == [[passage_input(unit(SENTENCES[0]))]]


def test_failures_carry_their_reason(tiny, tiny_t5, engine):
    results = tiny.propositionize([REFUSED, about("Pisa")])
    assert results == [[], facts("Pisa")]
    assert results[0].reason == "unreadable output"
    [cut] = FlanT5Propositionizer(tiny_t5, max_new_tokens=2, **engine).propositionize([about("Pisa")])
    assert cut.reason == "output cut off"
    [cut] = FlanT5Propositionizer(tiny_t5, max_new_tokens=5, **engine).propositionize([about("Pisa")])
    assert cut == facts("Pisa")[:1]  # the complete strings


def test_a_part_that_fails_leaves_the_others(tiny, monkeypatch):
    def read(text, **options):
        return NoPropositions("unreadable output") if "Oslo" in text else read_propositions(text, **options)

    monkeypatch.setattr(flan_t5, "read_propositions", read)
    assert tiny.propositionize([LONG]) == [[SENTENCES[0], *SENTENCES[2:]]]


def test_the_model_is_loaded_once_on_first_use(tiny_t5, engine, monkeypatch):
    loads = []
    load = flan_t5.load
    monkeypatch.setattr(flan_t5, "load", lambda *args, **options: loads.append(args) or load(*args, **options))
    propositionizer = FlanT5Propositionizer(str(tiny_t5), **engine)
    assert propositionizer.costly
    assert propositionizer.propositionize([]) == []
    assert loads == []
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(propositionizer.propositionize, [[about(city)] for city in list(CITIES) * 4]))
    assert results == [[facts(city)] for city in list(CITIES) * 4]
    assert len(loads) == 1


def test_progress_is_shown_if_asked_for(tiny, monkeypatch, capsys):
    tiny.propositionize([about(city) for city in CITIES])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(tiny, "show_progress", True)
    tiny.propositionize([about(city) for city in CITIES])
    assert re.search(r"propositions: 100%.* 5/5 ", capsys.readouterr().err)
