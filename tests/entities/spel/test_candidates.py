"""Candidate sets, rule by rule."""

from __future__ import annotations

import json

import pytest

from factoid.entities.spel.candidates import CandidateSets, read_candidates
from factoid.entities.spel.phrases import find_phrases
from factoid.entities.spel.predict import Prediction
from factoid.entities.spel.vocabulary import Vocabulary
from factoid.errors import InvalidInputError, UnreadableFileError

VOCABULARY = Vocabulary(("|||O|||", "<pad>", "Rome", "Rome_(band)", "Rome,_Georgia", "Oslo"))
TEXT = "Old Rome"


def phrase(first=((2, 0.6), (3, 0.3), (4, 0.1)), second=((2, 0.5), (4, 0.3), (3, 0.2))):
    """Return the phrase "Old Rome" of two words whose subwords list the given ids."""
    predictions = [Prediction(*zip(*listed, strict=True)) for listed in (first, second)]
    spans = [(0, 3), (4, 8)]
    return find_phrases(TEXT, spans, spans, predictions)[0]


def choose(sets, chosen=None):
    return VOCABULARY.entries[sets.choose(chosen or phrase(), TEXT, VOCABULARY).entity]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"Rome": ["Rome"]}, "|||O|||"),  # no entry for the phrase
        ({TEXT: []}, "|||O|||"),
        ({TEXT: ["Rome", "Rome_(band)"]}, "Rome"),
        ({TEXT: ["Rome, Georgia", "Rome (band)"]}, "Rome_(band)"),  # 0.25 to 0.2, order unused
        ({TEXT: ["Oslo", "Unknown"]}, "|||O|||"),  # known, and listed by no word
        ({TEXT: ["Unknown"]}, "Rome"),  # nothing is known of the entry
    ],
)
def test_the_best_entity_that_the_set_allows_is_taken(entries, expected):
    assert choose(CandidateSets(entries)) == expected


def test_an_id_that_one_word_does_not_list_cannot_be_chosen():
    one_sided = phrase(second=((2, 0.5), (4, 0.3)))
    assert choose(CandidateSets({TEXT: ["Rome_(band)", "Rome,_Georgia"]}), one_sided) == "Rome,_Georgia"
    assert choose(CandidateSets({TEXT: ["Rome_(band)"]}), one_sided) == "|||O|||"


def test_a_word_whose_subwords_share_no_candidate_keeps_its_own_entity():
    predictions = [Prediction((entity,), (0.9,)) for entity in (2, 2, 3, 2)]  # k=1; "Old" is one subword, "Rome" three
    offsets = [(0, 3), (4, 5), (5, 6), (6, 8)]
    (old_rome,) = find_phrases(TEXT, [(0, 3), (4, 8)], offsets, predictions)
    assert choose(CandidateSets({TEXT: ["Rome"]}), old_rome) == "Rome"
    assert choose(CandidateSets({TEXT: ["Rome_(band)"]}), old_rome) == "|||O|||"
    assert old_rome.candidates[2] == pytest.approx((0.9 + 2 * 0.9 / 3) / 2)


@pytest.fixture
def write(tmp_path):
    def save(content):
        path = tmp_path / "sets.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return save


def test_kb_and_yago_are_for_surfaces_in_any_case_and_priors_are_unused(write):
    sets = read_candidates(write({"old rome": [["Rome_(band)", 0.1], ["Rome,_Georgia", 0.9]]}), "lower_case")
    assert sets.titles("xx OLD Rome", 3, 11) == ["Rome_(band)", "Rome,_Georgia"]
    assert sets.titles("xx OLD Rome", 7, 11) is None
    assert choose(sets) == "Rome_(band)"


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("surface", {"Rome": ["Rome"]}),
        ("sentence", {TEXT: {"Rome": ["Rome"]}}),
        ("span", {TEXT: {"(4, 8)": ["Rome"]}}),
    ],
)
def test_sets_by_surface_sentence_and_span(write, kind, content):
    sets = read_candidates(write(content), kind)
    assert (sets.titles(TEXT, 4, 8), sets.titles(TEXT, 0, 8), sets.titles("Old rome", 4, 8)) == (["Rome"], None, None)
    assert sets.titles("New Rome", 4, 8) == (["Rome"] if kind == "surface" else None)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("lower_case", {"rome": ["Rome"], "oslo": [1]}),
        ("surface", {"Rome": "Rome"}),
        ("surface", {"Rome": [["Rome", 1.0]]}),
        ("sentence", {TEXT: ["Rome"]}),
        ("span", None),
        ("surface", '{"Rome": ['),
    ],
)
def test_files_of_another_shape_are_refused(write, kind, content):
    with pytest.raises(UnreadableFileError, match=f"as candidate sets of the kind '{kind}'"):
        read_candidates(write(content), kind)


def test_missing_files_and_unknown_kinds_are_refused(tmp_path):
    with pytest.raises(UnreadableFileError, match="cannot be read"):
        read_candidates(tmp_path / "none.json", "surface")
    with pytest.raises(InvalidInputError, match="unknown kind 'yago'"):
        read_candidates(tmp_path / "half.json", "yago")
