from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document, split_passages
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.propositions import NoPropositions
from factoid.training.propositionizers.seeds import SeedPair, make_seeds, read_pairs, write_pairs
from factoid.training.propositionizers.train import split_held_out
from factoid.testing import ScriptedPropositionizer

ANNA = "Anna Berg was born in Oslo. She moved to Berlin in 1925."
FACTS = ["Anna Berg was born in Oslo.", "Anna Berg moved to Berlin in 1925."]


def passage(text: str, title: str = "", document: str = ""):
    (unit,) = split_passages(Document(text, title, id=document or text))
    return unit


def pair(document: str):
    return SeedPair(passage(ANNA, document=document), tuple(FACTS), "scripted")


def test_fit_pairs_are_kept_and_others_counted_by_reason():
    texts = {
        ANNA: [
            *FACTS,
            " Anna  Berg was\nborn in Oslo. ",
            "",
        ],  # repetitions and white space are not learned
        "Dogs bark.": NoPropositions("request timed out", transient=True),
        "Cows moo.": [],
        "Owls hoot.": ["Owls hoot in Lisbon.", "Owls hoot."],
        "Pigs oink. Hens cluck at dawn.": ["Pigs oink."],
    }
    passages, propositionizer = (
        [passage(text) for text in texts],
        ScriptedPropositionizer(lambda unit: texts[unit.text]),
    )
    seeds = make_seeds(passages, propositionizer)
    [seed] = seeds.pairs
    assert (seed.passage.text, list(seed.propositions), seed.propositionizer) == (
        ANNA,
        FACTS,
        "scripted",
    )
    reasons = ("empty output", "low coverage", "request timed out", "unsupported propositions")
    assert seeds.dropped == dict.fromkeys(reasons, 1)
    assert str(seeds).startswith("1 pairs kept, 4 dropped (1 empty output, ")
    assert (
        len(make_seeds(passages, propositionizer, min_coverage=0.5, max_unsupported=0.5).pairs) == 3
    )


@given(st.lists(st.sampled_from("abcdefgh")), st.integers(0, 50))
def test_no_document_is_on_both_sides(documents, count):
    pairs = [pair(document) for document in documents]
    if not documents or (count and len(set(documents)) == 1):
        with pytest.raises(InvalidInputError, match="two documents at least"):
            split_held_out(pairs, count)
        return
    training, held_out = split_held_out(pairs, count)
    assert training
    assert len(training) + len(held_out) == len(pairs)
    assert bool(held_out) == bool(count)
    assert not {seed.passage.document_id for seed in training} & {
        seed.passage.document_id for seed in held_out
    }


def test_about_as_many_are_held_out_as_asked_for():
    def held_out(pairs, count):
        return sorted(seed.passage.document_id for seed in split_held_out(pairs, count)[1])

    pairs = [pair(str(number)) for number in range(100)]
    assert len(held_out(pairs, 7)) == 7
    assert len(held_out(pairs, 1000)) == 10  # a tenth at most
    assert held_out(pairs[::-1], 7) == held_out(pairs, 7)


def content(seed):
    unit = seed.passage
    return unit.text, unit.title, unit.document_id, seed.propositions, seed.propositionizer


def test_written_pairs_are_read_back_and_text_and_propositions_suffice(tmp_path):
    texts = 'It is "old".', "Łódź\u2028is"
    pairs = [
        SeedPair(passage("Łódź is a “city”.\nIt is old.", "Łódź", "one"), texts, "gpt@1"),
        pair("two"),
    ]
    path = tmp_path / "pairs.jsonl"
    write_pairs(path, pairs)
    assert [content(seed) for seed in read_pairs(path)] == [content(seed) for seed in pairs]
    lines = (json.dumps({"text": text, "propositions": [text]}) for text in ("A b.", "C d."))
    path.write_text("\ufeff" + "\n".join(lines) + "\n\n", encoding="utf-8")
    own = read_pairs(path)
    assert [seed.propositions for seed in own] == [("A b.",), ("C d.",)]
    assert len({seed.passage.document_id for seed in own}) == 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ('{"text": "A."}', 'some in "propositions"'),
        ('{"text": "A.", "propositions": []}', "propositions"),
        ('{"text": "A.", "propositions": [1]}', "propositions"),
        ('{"text": " ", "propositions": ["A."]}', 'a string in "text"'),
        ('{"text": 3, "propositions": ["A."]}', 'a string in "text"'),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, problem):
    path = tmp_path / "pairs.jsonl"
    path.write_text(f'{{"text": "A.", "propositions": ["A."]}}\n{line}\n')
    with pytest.raises(UnreadableFileError, match=rf"pairs.jsonl:2: .*{problem}"):
        read_pairs(path)
