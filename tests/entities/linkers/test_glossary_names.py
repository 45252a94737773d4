"""Names that only a glossary or a catalogue has: of function words, of digits, of words that every
question holds.
"""

from __future__ import annotations

import pytest

from factoid.entities.linkers.titles import TitleLinker
from tests.entities.linkers.stores import glossary, links

TERMS = """one-time password|first aid|last mile|out of stock|same-day delivery|over the counter|down payment|up-time
on-call duty|off-grid system|after-sales service|no-load loss|all-risk insurance|Heron|State|Seal""".replace(
    "\n", "|"
)


@pytest.fixture(scope="module")
def terms():
    with glossary(
        *TERMS.split("|"),
        "4711",
        "e12",
        "2",
        "Duty Cycle",
        "impeller",
        "Switch",
        "Assembly line",
        "Gas",
    ) as store:
        yield store


@pytest.mark.parametrize(
    "question",
    ["how is the {} changed", "Does Heron need the {}?", "What is {}?", "Which {} is it?"],
)
def test_names_that_begin_with_a_function_word(terms, question):
    heron = {"Heron": "Heron"} if "Heron" in question else {}
    for term in TERMS.split("|")[:13]:
        assert links(TitleLinker(terms), question.format(term)) == {term: term} | heron


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does state mean", {"state": "State"}),
        ("What is a state?", {"state": "State"}),
        ("Did the first one out pay down the last time?", {}),
        ("Who was over at the first, for all that?", {}),
        # codes
        ("Does the 4711 fit the Heron?", {"4711": "4711", "Heron": "Heron"}),
        ("what does error e12 mean on the heron?", {"e12": "e12", "heron": "Heron"}),
        ("how often is the seal of an e12 changed", {"seal": "Seal", "e12": "e12"}),
        ("Does Heron need 2 of them?", {"Heron": "Heron"}),
        ("What is 2?", {"2": "2"}),
        # without a capital, and plurals
        ("Did Anna approve the duty cycle?", {"duty cycle": "Duty Cycle"}),
        (
            "Are duty cycles of impellers long?",
            {"duty cycles": "Duty Cycle", "impellers": "impeller"},
        ),
        (
            "how do switches and assembly lines differ",
            {"switches": "Switch", "assembly lines": "Assembly line"},
        ),
        ("Is a gas a ga?", {"gas": "Gas"}),
        ("Is it so?", {}),
    ],
)
def test_what_is_linked(terms, question, expected):
    assert (
        links(TitleLinker(terms), question)
        == links(TitleLinker(terms, lower_case=True), question)
        == expected
    )
