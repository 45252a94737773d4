from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.propositions import decompose
from factoid.words import stands_in
from tests.propositions.syntax.trees import propositions


def test_the_papers_first_figure() -> None:
    found = propositions(
        "Prior to restoration work performed between 1990 and 2001, the tower leaned at an angle of 5.5 degrees, but "
        "the tower now leans at about 3.99 degrees. This means the top of the Leaning Tower of Pisa is displaced "
        "horizontally 3.9 meters (12 ft 10 in) from the center.",
        title="Leaning Tower of Pisa",
    )
    assert "The Leaning Tower of Pisa now leans at about 3.99 degrees." in found
    assert any(
        text.endswith("the Leaning Tower of Pisa leaned at an angle of 5.5 degrees.")
        for text in found
    )


def test_names_that_pronouns_stand_for_count() -> None:
    """With the name the fact is big enough; with a pronoun nobody knows it is not."""
    text = "She was born in Oslo and moved to Berlin in 1925."
    assert propositions(text, title="Anna Berg") == [
        "Anna Berg was born in Oslo.",
        "Anna Berg moved to Berlin in 1925.",
    ]
    assert propositions(text) == [text]


def test_a_name_may_end_with_a_word_after_a_comma() -> None:
    for text in (
        "The journal is published by Wiley Periodicals, Inc.",
        "Inside the Cell published by Wiley Periodicals, Inc.",
    ):
        assert propositions(text) == [text]


@pytest.mark.parametrize("mark", ["[2,3]", " [4]", "[^5]", "²", "<sup>6</sup>"])
def test_no_full_stop_follows_a_citation(mark: str) -> None:
    (_, text) = propositions(f"The bog was drained in 1952.{mark} It was rewetted in 2018.{mark}")
    assert re.fullmatch(r"The bog was rewetted in 2018\.[^.]*", text)


def test_sentences_that_do_not_parse_are_kept() -> None:
    for text in (
        "Apples, pears, plums",
        "2019 2020 2021",
        "東京は日本の首都です。",
        "Привет, мир!",
        "🙂 🙂",
    ):
        assert propositions(text), text


@pytest.mark.parametrize(
    "text",
    [
        "The Vasa was a warship that sank in 1628; it was raised in 1961. Its guns, which were bronze, were sold.",
        "The pump weighs 10<sup>3</sup> kg and lifts 3<br>4 m<sup>3</sup> of H<sub>2</sub>O.",
    ],
)
def test_nothing_is_unsupported_or_lost(text: str) -> None:
    report = decompose(split_passages(Document(text, title="Vasa")), SyntaxPropositionizer()).report
    assert (report.failed, report.unsupported, report.uncovered) == (0, 0, 0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.sampled_from("aT .,;:()\"'’“”-–[]3é\n\t"), max_size=120))
def test_any_text_gives_clean_propositions(text: str) -> None:
    for proposition in propositions(text, title="The Title"):
        assert proposition == " ".join(proposition.split())
        assert proposition


@pytest.mark.parametrize(
    ("title", "text", "last"),
    [
        ("Data Agreement", "If the Processor fails to notify us, it shall pay a penalty.", ""),
        ("Martin Luther", "He sent Martin to school.", ""),
        ("John Smith", "He or she needs a licence.", ""),
        (
            "Marie Dupont",
            "Marie Dupont married the painter Paul Renard. His sister hated her.",
            "His sister hated her.",
        ),
        (
            "Kafka (software)",
            "Kafka is a platform named after Franz Kafka. He wrote novels.",
            "He wrote novels.",
        ),
        ("", "Its colour is red. It has 4 wheels.", "It has 4 wheels."),
    ],
)
def test_what_is_not_safe_is_left_alone(title: str, text: str, last: str) -> None:
    assert propositions(text, title=title)[-1] == (last or text)


@pytest.mark.parametrize(
    "text",
    [
        # A phrase in front limits both clauses.
        "Until May 2026, entry is free and parking costs EUR 2.",
        "In Norway, the delivery takes two days, while the installation costs EUR 80 a day.",
        # A clause without its verb.
        "Breakfast is included in Oslo, but in London it isn't.",
        "Parking and tolls are reimbursed on top; speeding tickets are not.",
        "Petra Schulz speaks Norwegian and so does her assistant.",
        # A relative clause that may mean someone else.
        "Petra Schulz met Jonas Weber on Tuesday, who now leads the Vienna office.",
        "The son of Anna Berg, who works in the warehouse, drives the forklift.",
        # Clauses that nothing joins: wrong parses.
        "During the trial period, calls are free and reports cost EUR 5.",
        "Devices bought before 2024 are serviced by Canon, later ones by us.",
        # A note without a subject.
        "Added the asynchronous client, `AsyncClient`.",
    ],
)
def test_what_would_be_false_or_meaningless_alone_stays_in_its_sentence(text: str) -> None:
    assert propositions(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "If the order is late, the buyer can cancel the contract and claim the costs of another supplier.",
            [
                "If the order is late, the buyer can cancel the contract.",
                "If the order is late, the buyer can claim the costs of another supplier.",
            ],
        ),
        (
            "In 1998, Anna Berg founded the company, and her brother still leads the sales team.",
            [
                "In 1998, Anna Berg founded the company.",
                "Anna Berg's brother still leads the sales team.",
            ],
        ),
        (
            "However, the net price rose to EUR 40 and the late delivery took three weeks.",
            ["However, the net price rose to EUR 40.", "The late delivery took three weeks."],
        ),
        (
            "Jonas Weber, who joined the company in May, works for Canon.",
            ["Jonas Weber works for Canon.", "Jonas Weber joined the company in May."],
        ),
        (
            "The French composer Olivier Messiaen was blind. He died in Paris.",
            [
                "The French composer Olivier Messiaen was blind.",
                "The French composer Olivier Messiaen died in Paris.",
            ],
        ),
    ],
)
def test_what_is_true_alone_is_split(text: str, expected: list[str]) -> None:
    assert propositions(text) == expected


_SOLD = "sold the island in 1650"
_BOUGHT = "bought two ships from Holland"


@pytest.mark.parametrize(
    "subject",
    [
        "Portugal, as well as Spain,",
        "Portugal, or rather its king,",
        "Portugal – as well as Spain –",
        "Portugal — unlike Spain —",
        "Portugal (unlike Spain)",
    ],
)
def test_an_aside_is_repeated_with_the_mark_that_closes_it(subject: str) -> None:
    assert propositions(f"{subject} {_SOLD} and {_BOUGHT}.") == [
        f"{subject} {_SOLD}.",
        f"{subject} {_BOUGHT}.",
    ]


@pytest.mark.parametrize(
    ("subject", "repeated"),
    [
        ("Portugal, then a kingdom,", "Portugal"),
        ("The large, rich Portugal, which had a king,", "The large, rich Portugal"),
        ("Portugal, Spain, and England, who were at peace,", "Portugal, Spain, and England"),
    ],
)
def test_no_mark_follows_what_is_no_aside(subject: str, repeated: str) -> None:
    assert propositions(f"{subject} {_SOLD} and {_BOUGHT}.")[-1] == f"{repeated} {_BOUGHT}."


@pytest.mark.parametrize("aside", [" – after the war –", ", despite the war,", ", during a war,"])
def test_a_time_behind_a_subject_may_be_that_of_the_first_verb_only(aside: str) -> None:
    text = f"Portugal{aside} {_SOLD} and {_BOUGHT}."
    assert propositions(text) == [text]


def test_calls_in_prose_keep_their_brackets() -> None:
    text = "It returned foo() and bar() to the caller."
    assert propositions(text, title="Parser") == [text.replace("It", "Parser")]
    assert propositions("```\ndef f(): return 1 and 2\n```") == ["def f(): return 1 and 2"]


def test_messages_of_a_chat_lose_their_time() -> None:
    text = (
        "[09:15] Ana: We shipped it.\n[09:16] Bob: Great, it arrived.\nThe lid of the box is red."
    )
    units = decompose(split_passages(Document(text)), SyntaxPropositionizer()).units
    assert [unit.text for unit in units][:2] == ["Ana: We shipped it.", "Bob: Great, it arrived."]
    assert [text[unit.start : unit.end] for unit in units] == [unit.text for unit in units]


def test_threads_get_the_same_results() -> None:
    passages = split_passages(
        Document("Anna sang and danced. Bob, a baker, slept.\n\nEve was tall and left.", title="X")
    )
    propositionizer = SyntaxPropositionizer()
    expected = propositionizer.propositionize(passages)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(propositionizer.propositionize, [passages] * 16)) == [expected] * 16


@pytest.mark.parametrize(
    "text",
    [
        "`split_passages` returns passages, and `split_sentences(passage)` cuts each of them into sentences.",
        "Set `key: value; name: value` in the file.",
    ],
)
def test_sentences_whose_parse_is_doubtful_stay_whole(text: str) -> None:
    assert propositions(text) == [text]


def test_markdown_is_read_as_a_reader_sees_it() -> None:
    text = (
        "# Use\n\n<!-- A note. It stays here. -->\n\n- `index()` is **fast** and was tested in [the lab](https://x.org/a).\n"
        "- See [Dense X](https://x.org/b).\n\n```\n```\n\n```python\na = 1; b = 2\n  c\n```\n\n| part | weight |\n|---|---|\n"
        "| Tern | 59 kg |\n"
    )
    units = decompose(split_passages(Document(text)), SyntaxPropositionizer()).units
    assert [(unit.text, text[unit.start : unit.end]) for unit in units] == [
        (
            "`index()` is fast and was tested in the lab.",
            "`index()` is **fast** and was tested in [the lab](https://x.org/a).",
        ),
        ("See Dense X.", "See [Dense X](https://x.org/b)."),
        ("a = 1; b = 2\n  c", "```python\na = 1; b = 2\n  c\n```"),
        ("part: Tern; weight: 59 kg", "Tern | 59 kg"),
    ]
    assert all(not unit.metadata for unit in units)


ROOT = Path(__file__).parents[3]
MARKDOWN = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ENCYCLOPEDIA = sorted((ROOT / "examples" / "data" / "encyclopedia").glob("*.md"))


@pytest.mark.parametrize("path", [*MARKDOWN[::3], *ENCYCLOPEDIA[:3]], ids=lambda path: path.name)
def test_real_markdown_leaves_no_marks_in_facts_and_verbatim_spans_are_exact(path: Path) -> None:
    document = Document(path.read_text(encoding="utf-8"))
    passages = {passage.id: passage for passage in split_passages(document)}
    for unit in decompose(list(passages.values()), SyntaxPropositionizer()).units:
        source = document.text[unit.start : unit.end]
        if source.startswith(("```", "    ")):
            assert unit.text in dedent(source)  # code, without its fences or its indentation
            continue
        if stands_in(unit.text, passages[unit.parent_id].text):
            # Marks around a whole sentence belong to it.
            assert source.strip("*").split() == unit.text.split()
        assert "](" not in unit.text
        assert "<!--" not in re.sub("`[^`]*`", "", unit.text)
        assert not unit.text.startswith(("- ", "* ", "#", "|", ">", "1. "))
        assert unit.text.count("`") % 2 == 0 or source.count("`") % 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Acme Corp\n\n## John Smith\n\nHe joined in 2010.", "John Smith joined in 2010."),
        ("# Acme Corp\n\n## Sales\n\nHe joined in 2010.", "He joined in 2010."),
        ("# Acme Corp\n\n## Jane Roe\n\nHe joined in 2010.", "He joined in 2010."),
        (
            "# Employee handbook\n\n## Parental leave\n\nIt lasts 14 months.",
            "Parental leave lasts 14 months.",
        ),
        ("# Heron X200\n\n## Warranty\n\nIt lasts two years.", "It lasts two years."),
        ("# Heron X200\n\n## Overview\n\nIt weighs 59 kg.", "Heron X200 weighs 59 kg."),
        (
            "# Chicago\n\n## Wrigley Building\n\nIt was built in 1924.",
            "Wrigley Building was built in 1924.",
        ),
        ("# Heron X200 user manual\n\n## Overview\n\nIt weighs 59 kg.", "It weighs 59 kg."),
        ("# Stock\n\n## Filters\n\nThey last two months.", "Filters last two months."),
        ("# Stock\n\n## Acme, Inc.\n\nIt was founded in 2010.", "Acme, Inc. was founded in 2010."),
        (
            "# Rules\n\n## Travel policy\n\nThe policy covers all staff.",
            "The Travel policy covers all staff.",
        ),
        ("# Tern Bicycle Company\n\nThe company was sold.", "The Tern Bicycle Company was sold."),
        (
            "# Tern Bicycle Company\n\nFor Volvo, the company was small.",
            "For Volvo, the company was small.",
        ),
        ("# Heron X200\n\nIt is known that pumps leak.", "It is known that pumps leak."),
        ("# Marie Curie\n\n## Early life\n\nShe left in 1891.", "Marie Curie left in 1891."),
    ],
)
def test_the_nearest_heading_that_fits_is_meant(text: str, expected: str) -> None:
    assert propositions(text) == [expected]
