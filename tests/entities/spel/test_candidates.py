"""Candidate sets, rule by rule."""

from __future__ import annotations

import json

import pytest

from factoid.entities.spel.candidates import (
    SentenceCandidates,
    SpanCandidates,
    SurfaceCandidates,
    choose_candidate,
    read_candidates,
)
from factoid.entities.spel.phrases import find_phrases
from factoid.entities.spel.resolve import Prediction
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
    found = choose_candidate(chosen or phrase(), TEXT, sets, VOCABULARY)
    return VOCABULARY.entries[found.entity]


def test_a_phrase_without_an_entry_names_no_entity():
    assert choose(SurfaceCandidates({"Rome": ["Rome"]})) == "|||O|||"


def test_the_best_of_the_ids_that_every_word_lists_and_the_set_holds_is_taken():
    assert choose(SurfaceCandidates({TEXT: ["Rome", "Rome_(band)"]})) == "Rome"
    assert (
        choose(SurfaceCandidates({TEXT: ["Rome, Georgia", "Rome (band)"]})) == "Rome_(band)"
    )  # 0.25 to 0.2, order unused


def test_its_score_is_the_mean_of_the_words_means():
    sets = SurfaceCandidates({TEXT: ["Rome_(band)"]})
    assert choose_candidate(phrase(), TEXT, sets, VOCABULARY).score == pytest.approx(0.25)


def test_an_id_that_one_word_does_not_list_cannot_be_chosen():
    one_sided = phrase(second=((2, 0.5), (4, 0.3)))
    assert choose(SurfaceCandidates({TEXT: ["Rome_(band)", "Rome,_Georgia"]}), one_sided) == "Rome,_Georgia"
    assert choose(SurfaceCandidates({TEXT: ["Rome_(band)"]}), one_sided) == "|||O|||"


def test_an_entry_with_known_titles_that_no_word_lists_names_no_entity():
    assert choose(SurfaceCandidates({TEXT: ["Oslo", "Unknown"]})) == "|||O|||"


@pytest.mark.parametrize("titles", [["Unknown"], []])
def test_an_entry_whose_titles_are_all_unknown_changes_nothing(titles):
    assert choose(SurfaceCandidates({TEXT: titles})) == "Rome"


def test_what_names_no_entity_stays_so():
    outside = phrase(first=((0, 0.6), (2, 0.4)), second=((0, 0.6), (2, 0.4)))
    assert choose(SurfaceCandidates({TEXT: ["Rome"]}), outside) == "|||O|||"


def written(tmp_path, found):
    path = tmp_path / "sets.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def test_kb_and_yago_are_for_surfaces_in_any_case_and_priors_are_unused(tmp_path):
    path = written(tmp_path, {"old rome": [["Rome_(band)", 0.1], ["Rome,_Georgia", 0.9]]})
    sets = read_candidates(path, "lower_case")
    assert sets.titles("xx OLD Rome", 3, 11) == ["Rome_(band)", "Rome,_Georgia"]
    assert sets.titles("xx OLD Rome", 7, 11) is None
    assert choose(sets) == "Rome_(band)"


def test_sets_by_surface_are_for_surfaces_as_written(tmp_path):
    sets = read_candidates(written(tmp_path, {"Old Rome": ["Rome"]}), "surface")
    assert (sets.titles(TEXT, 0, 8), sets.titles("old Rome", 0, 8)) == (["Rome"], None)


def test_sets_by_sentence_are_for_surfaces_of_this_sentence(tmp_path):
    sets = read_candidates(written(tmp_path, {TEXT: {"Rome": ["Rome"]}}), "sentence")
    assert isinstance(sets, SentenceCandidates)
    assert sets.titles(TEXT, 4, 8) == ["Rome"]
    assert sets.titles(TEXT, 0, 8) is None
    assert sets.titles("New Rome", 4, 8) is None


def test_sets_by_span_are_for_spans_of_this_sentence(tmp_path):
    sets = read_candidates(written(tmp_path, {TEXT: {"(4, 8)": ["Rome"]}}), "span")
    assert isinstance(sets, SpanCandidates)
    assert (sets.titles(TEXT, 4, 8), sets.titles(TEXT, 0, 8), sets.titles("New Rome", 4, 8)) == (["Rome"], None, None)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("lower_case", {"rome": ["Rome"], "oslo": [1]}),
        ("lower_case", {"rome": [[]]}),
        ("surface", {"Rome": "Rome"}),
        ("surface", {"Rome": [["Rome", 1.0]]}),
        ("surface", ["Rome"]),
        ("sentence", {TEXT: ["Rome"]}),
        ("span", None),
    ],
)
def test_files_of_another_shape_are_refused(tmp_path, kind, found):
    with pytest.raises(UnreadableFileError, match=f"no candidate sets of the kind '{kind}'"):
        read_candidates(written(tmp_path, found), kind)


def test_missing_and_damaged_files_and_unknown_kinds_are_refused(tmp_path):
    with pytest.raises(UnreadableFileError, match="cannot be read"):
        read_candidates(tmp_path / "none.json", "surface")
    (tmp_path / "half.json").write_text('{"Rome": [')
    with pytest.raises(UnreadableFileError, match="holds no candidate sets"):
        read_candidates(tmp_path / "half.json", "surface")
    with pytest.raises(InvalidInputError, match="unknown kind 'yago'"):
        read_candidates(tmp_path / "half.json", "yago")
