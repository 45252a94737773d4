from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from factoid.propositions import flan_t5
from factoid.propositions.flan_t5 import FlanT5Propositionizer
from tests.propositions.tiny_t5 import CITIES, LONG, REFUSED, SENTENCES, STUCK, about, facts, unit

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="module", params=["transformers", "ctranslate2"])
def engine(request):
    if request.param == "ctranslate2":
        pytest.importorskip("ctranslate2")
    return {"engine": request.param, "device": "cpu", "dtype": "float32"}


@pytest.fixture(scope="module")
def tiny(tiny_t5, engine):
    return FlanT5Propositionizer(tiny_t5, **engine)


def test_results_are_streamed_and_returned_in_order(tiny):
    passages = [unit(SENTENCES[0]), about("Oslo"), LONG, about("Pisa"), about("Lima")]
    expected = [[SENTENCES[0]], facts("Oslo"), [], facts("Pisa"), facts("Lima")]
    assert dict(tiny.stream(passages)) == dict(enumerate(expected))
    results = tiny.propositionize(passages)
    assert results == expected
    assert (results[2].reason, results[2].transient) == ("passage too long", False)


def test_batches_engines_and_drafts_agree_in_float32(tiny, tiny_t5):
    passages = (
        [about(city) for city in CITIES]
        + [unit(sentence) for sentence in SENTENCES]
        + [STUCK, REFUSED]
    )
    together = tiny.propositionize(passages)
    assert together == [tiny.propositionize([passage])[0] for passage in passages]
    plain = FlanT5Propositionizer(
        tiny_t5, engine="transformers", device="cpu", dtype="float32", copy=False
    )
    assert together == plain.propositionize(passages)


def test_failures_carry_their_reason(tiny, tiny_t5, engine):
    results = tiny.propositionize([REFUSED, about("Pisa")])
    assert results == [[], facts("Pisa")]
    assert results[0].reason == "unreadable output"
    [cut] = FlanT5Propositionizer(tiny_t5, max_new_tokens=2, **engine).propositionize(
        [about("Pisa")]
    )
    assert cut.reason == "output cut off"
    [cut] = FlanT5Propositionizer(tiny_t5, max_new_tokens=5, **engine).propositionize(
        [about("Pisa")]
    )
    assert cut == facts("Pisa")[:1]  # the complete strings


def test_the_model_is_loaded_once_on_first_use(tiny_t5, engine, monkeypatch):
    loads = []
    load = flan_t5.load
    monkeypatch.setattr(
        flan_t5, "load", lambda *args, **options: loads.append(args) or load(*args, **options)
    )
    propositionizer = FlanT5Propositionizer(str(tiny_t5), **engine)
    assert propositionizer.costly
    assert propositionizer.propositionize([]) == []
    assert loads == []
    with ThreadPoolExecutor(4) as pool:
        results = list(
            pool.map(propositionizer.propositionize, [[about(city)] for city in list(CITIES) * 4])
        )
    assert results == [[facts(city)] for city in list(CITIES) * 4]
    assert len(loads) == 1


def test_progress_is_shown_if_asked_for(tiny, monkeypatch, capsys):
    tiny.propositionize([about(city) for city in CITIES])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(tiny, "progress", True)
    tiny.propositionize([about(city) for city in CITIES])
    assert re.search(r"propositions: 100%.* 5/5 ", capsys.readouterr().err)
