from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.errors import InvalidInputError
from factoid.propositions import Propositionizer, decompose
from tests.propositions.syntax.trees import CLEARNLP, doc


def propositions(text: str, title: str = "") -> list[str]:
    passages = split_passages(Document(text, title=title))
    return [text for texts in SyntaxPropositionizer().propositionize(passages) for text in texts]


def test_it_is_a_propositionizer() -> None:
    assert isinstance(SyntaxPropositionizer(), Propositionizer)


def test_the_papers_first_figure() -> None:
    found = propositions(
        "Prior to restoration work performed between 1990 and 2001, the tower leaned at an angle of 5.5 degrees, but "
        "the tower now leans at about 3.99 degrees. This means the top of the Leaning Tower of Pisa is displaced "
        "horizontally 3.9 meters (12 ft 10 in) from the center.",
        title="Leaning Tower of Pisa",
    )
    assert "The Leaning Tower of Pisa now leans at about 3.99 degrees." in found
    assert any(text.endswith("the Leaning Tower of Pisa leaned at an angle of 5.5 degrees.") for text in found)


def test_simple_coordination_with_the_shipped_parser() -> None:
    assert propositions("Anna Berg was born in Oslo in 1900 and moved to Berlin in 1925.") == [
        "Anna Berg was born in Oslo in 1900.",
        "Anna Berg moved to Berlin in 1925.",
    ]


def test_min_words_decides_how_small_facts_may_be() -> None:
    text = "Anna Berg moved to Oslo in 1900 and died."
    passages = split_passages(Document(text))
    assert SyntaxPropositionizer(min_words=0).propositionize(passages) == [
        ["Anna Berg moved to Oslo in 1900.", "Anna Berg died."]
    ]
    assert SyntaxPropositionizer().propositionize(passages) == [[text]]


def test_names_that_pronouns_stand_for_count() -> None:
    """With the name the fact is big enough; with a pronoun nobody knows it is not."""
    text = "She was born in Oslo and moved to Berlin in 1925."
    assert propositions(text, title="Anna Berg") == [
        "Anna Berg was born in Oslo.",
        "Anna Berg moved to Berlin in 1925.",
    ]
    assert propositions(text) == [text]


def test_a_statement_that_does_not_stand_alone_is_not_dropped() -> None:
    for text in ("The Vasa (built 1626–1628) was a ship that sank.", "Apples and pears and the old king."):
        words = {word.strip(".()") for word in text.split()}
        assert words <= {word.strip(".()") for found in propositions(text) for word in found.split()}


def test_sentences_that_do_not_parse_are_kept() -> None:
    for text in ("Apples, pears, plums", "2019 2020 2021", "東京は日本の首都です。", "Привет, мир!", "🙂 🙂"):
        assert propositions(text), text


def test_nothing_is_unsupported_or_lost() -> None:
    text = "The Vasa was a warship that sank in 1628; it was raised in 1961. Its guns, which were bronze, were sold."
    report = decompose(split_passages(Document(text, title="Vasa")), SyntaxPropositionizer()).report
    assert (report.failed, report.unsupported, report.uncovered) == (0, 0, 0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.sampled_from("aT .,;:()\"'’“”-–[]3é\n\t"), max_size=120))
def test_any_text_gives_clean_propositions(text: str) -> None:
    for proposition in propositions(text, title="The Title"):
        assert proposition == " ".join(proposition.split())
        assert proposition


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Data Agreement", "If the Processor fails to notify us, it shall pay a penalty."),
        ("Filter", "Do not use Teflon tape on plastic threads; it can crack them."),
        ("", "The Processor shall not disclose data unless (a) the Controller consents; (b) the law requires it."),
    ],
    ids=["a noun before", "imperative", "enumeration"],
)
def test_what_is_not_safe_is_left_alone(title: str, text: str) -> None:
    assert propositions(text, title=title) == [text]


@pytest.mark.parametrize(
    ("title", "text", "left"),
    [
        (
            "Marie Dupont",
            "Marie Dupont married the painter Paul Renard. His sister hated her.",
            "His sister hated her.",
        ),
        ("Kafka (software)", "Kafka is a platform named after Franz Kafka. He wrote novels.", "He wrote novels."),
    ],
    ids=["someone else", "namesake"],
)
def test_a_pronoun_that_may_mean_someone_else_is_left_alone(title: str, text: str, left: str) -> None:
    assert propositions(text, title=title)[-1] == left


def test_calls_in_prose_keep_their_brackets() -> None:
    assert propositions("It returned foo() and bar() to the caller.", title="Notes") == [
        "Notes returned foo() and bar() to the caller."
    ]


def test_code_is_kept_as_it_stands() -> None:
    assert propositions("```\ndef f(): return 1 and 2\n```") == ["``` def f(): return 1 and 2 ```"]


def test_other_pipelines() -> None:
    pipeline = spacy.blank("en")
    with pytest.raises(InvalidInputError, match="no dependency parser"):
        SyntaxPropositionizer(pipeline).propositionize(split_passages(Document("Anna slept. Bob woke.")))

    @spacy.Language.component("factoid_test_parser")
    def parse(given):
        return doc(CLEARNLP)

    pipeline.add_pipe("factoid_test_parser")
    found = SyntaxPropositionizer(pipeline, min_words=0).propositionize(
        split_passages(Document("Oslo is parsed by a fake."))
    )
    assert found == [["Oslo now is the capital of Norway.", "Oslo was founded in 1048.", "Oslo has a port."]]


def test_the_name_tells_versions_and_pipelines_apart() -> None:
    assert SyntaxPropositionizer().name != SyntaxPropositionizer(spacy.blank("en")).name


def test_threads_get_the_same_results() -> None:
    passages = split_passages(
        Document("Anna sang and danced. Bob, a baker, slept.\n\nEve was tall and left.", title="X")
    )
    propositionizer = SyntaxPropositionizer()
    expected = propositionizer.propositionize(passages)
    with ThreadPoolExecutor(8) as pool:
        assert all(
            result == expected for result in pool.map(lambda _: propositionizer.propositionize(passages), range(16))
        )
