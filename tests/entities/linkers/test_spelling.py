"""Names without their capitals, and in the plural, in small stores and in large ones."""

from __future__ import annotations

import pytest

from factoid.entities.linkers.titles import TitleLinker
from tests.entities.linkers.stores import links, make_store

GLOSSARY = ["Duty Cycle", "impeller", "Switch", "Assembly line", "Purchase Order", "Gas"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is an impeller?", {"impeller": "impeller"}),
        ("Did Anna approve the purchase order?", {"purchase order": "Purchase Order"}),
        ("Are duty cycles of impellers long?", {"duty cycles": "Duty Cycle", "impellers": "impeller"}),
        ("how do switches and assembly lines differ", {"switches": "Switch", "assembly lines": "Assembly line"}),
        ("Is a gas a ga?", {"gas": "Gas"}),
        ("Is it so?", {}),
    ],
)
def test_in_small_stores_names_need_no_capital(tmp_path, question, expected):
    with make_store(tmp_path / "glossary", GLOSSARY) as store:
        assert links(TitleLinker(store), question) == expected
        assert links(TitleLinker(store, lower_case="always"), question) == expected


def test_plurals_in_lower_case_also_in_large_stores(tmp_path, count_as_large):
    linker = TitleLinker(make_store(tmp_path / "s", ["Steam engine", "Ivan"]))
    assert links(linker, "Do steam engines need water, Ivan?") == {"steam engines": "Steam engine", "Ivan": "Ivan"}
    (mention,) = linker.link("Do steam engines need water?")
    assert mention.score == 0.9
    assert links(linker, "Who are the Ivans?") == {}


def test_a_redirect_that_differs_in_case_is_a_spelling(tmp_path, count_as_large):
    with make_store(tmp_path / "s", ["Steam Engine", "Ivan"], redirects={"Steam engine": "Steam Engine"}) as store:
        assert links(TitleLinker(store), "Does Ivan own a steam engine?") == {
            "Ivan": "Ivan",
            "steam engine": "Steam Engine",
        }
