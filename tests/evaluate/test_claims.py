from __future__ import annotations

from factoid.evaluate.claims import claims
from factoid.evaluate.comparison import Asked, Comparison, Tried
from factoid.evaluate.measures import Answer, Reading
from factoid.evaluate.settings import Setting
from factoid.evaluate.statistics import difference, holm
from factoid import Weights

KINDS = ("passage", "sentence", "proposition")


def comparison(ranks, *, read=(), weights=None):
    """Of passages, sentences and propositions, ranked so."""
    tried, answers = [], {}
    for kind, of_kind in zip(KINDS, ranks, strict=True):
        setting = Setting(name=f"by {kind}", units=kind, weights=weights or Weights(0, 0))
        tried.append(Tried(setting.name, setting.record(), "", 1, 1, 1, 0.0, 0.0, 0.0))
        readings = tuple(Reading(words, "", 0.0, 0.0) for words in read)
        answers[setting.name] = tuple(
            Answer((rank,), None, None, readings=readings) for rank in of_kind
        )
    asked = tuple(Asked(str(n), "?", "!", str(n)) for n in range(len(ranks[0])))
    return Comparison(tuple(tried), asked, answers, baseline=tried[0].name)


def test_verdicts_are_tested_and_corrected():
    found = claims(comparison([[None] * 30 + [1] * 10, [1] * 40, [None] * 15 + [3] * 25]))
    by_name = {(claim.measure, claim.finer, claim.coarser): claim for claim in found}
    # Of five measures without a reader, three comparisons each.
    assert len(found) == len(by_name) == 15
    claim = by_name["Success@5", "proposition", "passage"]
    assert (claim.finer_mean, claim.coarser_mean, claim.place) == (25 / 40, 0.25, "Table 2")
    assert claim.verdict == "so it is here"
    assert by_name["Success@5", "proposition", "sentence"].verdict == "the other way round here"
    assert by_name["within 100 words", "proposition", "passage"].verdict == "not told apart here"
    groups = [str(number) for number in range(40)]
    one = difference([0] * 15 + [1] * 25, [0] * 30 + [1] * 10, groups)
    assert claim.difference == one
    assert [claim.p for claim in found] == holm([claim.difference.p for claim in found])


def test_a_reader_adds_table_3():
    found = claims(comparison([[1] * 4] * 3, read=(100,)))
    assert {claim.measure for claim in found if claim.place == "Table 3"} == {"EM@100"}


def test_blended_scores_say_nothing_of_the_paper():
    assert claims(comparison([[1] * 4] * 3, weights=Weights(0, 0.3))) == []
