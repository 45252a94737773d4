from __future__ import annotations

from factoid.propositions.syntax.reference import Discourse
from factoid.propositions.syntax.render import render
from tests.propositions.syntax.trees import PISA, tree


def read(title: str, *sentences: str) -> list[str]:
    """Return the sentences with their references written out."""
    discourse = Discourse(title)
    found = []
    for rows in sentences:
        parsed = tree(rows)
        found.append(render(parsed, range(len(parsed.words)), discourse.read(parsed)))
    return found


def simple(*words: str) -> str:
    """Subject words, a verb, a full stop; a noun phrase's head is its last word."""
    *subject, verb = words
    head = len(subject)
    rows = []
    for index, word in enumerate(subject, start=1):
        kind = {"the": "DT", "her": "PRP$", "his": "PRP$", "their": "PRP$", "a": "DT"}.get(word.lower())
        kind = kind or ("PRP" if word.lower() in ("he", "she", "it", "they") else "NNP" if word[0].isupper() else "NN")
        relation = (
            "nsubj" if index == head else "nmod:poss" if kind == "PRP$" else "det" if kind == "DT" else "compound"
        )
        rows.append(f"{word} {kind} {head + 1 if index == head else head} {relation}")
    return "\n".join([*rows, f"{verb}_ VBD 0 root", f". . {head + 1} punct"])


def test_the_title_is_meant_where_nothing_else_was_mentioned() -> None:
    assert read("Marie Curie", simple("She", "won")) == ["Marie Curie won."]
    assert read("Vasa (ship)", simple("It", "sank")) == ["Vasa sank."]


def test_a_topic_is_nobody() -> None:
    assert read("Yuan dynasty", simple("He", "fled")) == ["He fled."]
    assert read("History of Norway", simple("It", "began")) == ["It began."]


def test_the_subject_before_is_meant() -> None:
    assert read("", simple("Anna", "Smith", "won"), simple("She", "slept")) == ["Anna Smith won.", "Anna Smith slept."]


def test_two_that_could_be_meant_leave_the_pronoun() -> None:
    sentences = read("Marie Curie", simple("She", "won"), simple("Lise", "Meitner", "left"), simple("She", "slept"))
    assert sentences == ["Marie Curie won.", "Lise Meitner left.", "She slept."]


def test_a_relative_competes() -> None:
    sentences = read("Ada Lovelace", simple("Her", "mother", "taught"), simple("She", "slept"))
    assert sentences == ["Ada Lovelace's mother taught.", "She slept."]


def test_possessives_explained_by_their_own_clause_stay() -> None:
    rows = "Anna NNP 2 nsubj\nsold VBD 0 root\nher PRP$ 4 nmod:poss\nhouse_ NN 2 obj\n. . 2 punct"
    assert read("Marie Curie", rows) == ["Anna sold her house."]


def test_the_noun_of_the_title_and_what_it_was_said_to_be() -> None:
    assert read("Leaning Tower of Pisa", PISA)[0].startswith("Prior to 1990, the Leaning Tower of Pisa leaned")
    vasa = "The DT 2 det\nVasa NNP 5 nsubj\nwas VBD 5 cop\na DT 5 det\nwarship_ NN 0 root\n. . 5 punct"
    assert read("", vasa, simple("The", "ship", "sank"))[1] == "The Vasa sank."


def test_unrelated_descriptions_stay() -> None:
    assert read("Leaning Tower of Pisa", simple("The", "king", "slept")) == ["The king slept."]


def test_surnames_become_full_names_once() -> None:
    rows = "Curie NNP 2 nsubj\nsaid VBD 0 root\nCurie NNP 4 nsubj\nwon_ VBD 2 ccomp\n. . 2 punct"
    assert read("Marie Curie", rows) == ["Marie Curie said Curie won."]
    assert read("Marie Curie", simple("Pierre", "Curie", "won")) == ["Pierre Curie won."]


def test_plural_pronouns_need_a_plural_subject() -> None:
    many = "Miners NNS 2 nsubj\nleft_ VBD 0 root\n. . 2 punct"
    assert read("", many, simple("They", "slept"))[1] == "Miners slept."
    assert read("", simple("Anna", "Smith", "won"), simple("They", "slept"))[1] == "They slept."
