from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document, split_passages
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.propositions import NoPropositions
from factoid.propositions.caching.cache import CachedPropositionizer, PropositionCache
from factoid.propositions.training.seeds import SeedPair, Seeds, make_seeds, read_pairs, split_held_out, write_pairs
from factoid.testing import ScriptedPropositionizer

ANNA = "Anna Berg was born in Oslo. She moved to Berlin in 1925."
FACTS = ["Anna Berg was born in Oslo.", "Anna Berg moved to Berlin in 1925."]


def passage(text: str, title: str = "", document: str = ""):
    (found,) = split_passages(Document(text, title, id=document or text))
    return found


def pair(document: str, text: str = ANNA):
    return SeedPair(passage(text, document=document), tuple(FACTS), "scripted")


def test_fit_pairs_are_kept_and_others_counted_by_reason():
    texts = {
        ANNA: FACTS,
        "Cats purr.": NoPropositions("unreadable output"),
        "Dogs bark.": NoPropositions("request timed out", transient=True),
        "Cows moo.": [],
        "Owls hoot.": ["Owls hoot in Lisbon."],
        "Pigs oink. Hens cluck at dawn.": ["Pigs oink."],
    }
    seeds = make_seeds([passage(text) for text in texts], ScriptedPropositionizer(lambda own: texts[own.text]))
    assert [(own.passage.text, list(own.propositions), own.propositionizer) for own in seeds.pairs] == [
        (ANNA, FACTS, "scripted")
    ]
    assert seeds.dropped == {
        "empty output": 1,
        "low coverage": 1,
        "request timed out": 1,
        "unreadable output": 1,
        "unsupported propositions": 1,
    }
    assert str(seeds).startswith("1 pairs kept, 5 dropped (1 empty output, ")


def test_the_bars_can_be_lowered():
    texts = {"Owls hoot.": ["Owls hoot in Lisbon.", "Owls hoot."], "Pigs oink. Hens cluck at dawn.": ["Pigs oink."]}
    seeds = make_seeds(
        [passage(text) for text in texts], ScriptedPropositionizer(texts), min_coverage=0.5, max_unsupported=0.5
    )
    assert len(seeds.pairs) == 2
    assert seeds.dropped == {}


def test_repetitions_and_white_space_are_not_learned():
    given = [*FACTS, " Anna  Berg was\nborn in Oslo. ", ""]
    (kept,) = make_seeds([passage(ANNA)], ScriptedPropositionizer({ANNA: given})).pairs
    assert list(kept.propositions) == FACTS


def test_prompting_goes_on_where_it_ended(tmp_path):
    passages = [passage(f"Tower {number} stands in Pisa.") for number in range(6)]

    class Failing(ScriptedPropositionizer):
        broken = True

        def propositionize(self, passages):
            if self.broken and len(self.calls) == 2:
                raise KeyboardInterrupt
            return super().propositionize(passages)

    teacher = Failing(lambda own: [own.text])
    with PropositionCache(tmp_path / "cache.sqlite") as cache:
        cached = CachedPropositionizer(teacher, cache, batch_size=2)
        with pytest.raises(KeyboardInterrupt):
            make_seeds(passages, cached)
        teacher.broken = False
        seeds = make_seeds(passages, cached)
    assert len(seeds.pairs) == 6
    asked = [own.text for call in teacher.calls for own in call]
    assert sorted(asked) == [own.text for own in passages]


@pytest.mark.parametrize("name", ["min_coverage", "max_unsupported"])
def test_shares_are_checked(name):
    with pytest.raises(InvalidInputError, match=f"expected {name} from 0 to 1, got 80"):
        make_seeds([], ScriptedPropositionizer({}), **{name: 80})


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1), st.integers(0, 50))
def test_no_document_is_on_both_sides(documents, count):
    pairs = [pair(document) for document in documents]
    if count and len(set(documents)) == 1:
        with pytest.raises(InvalidInputError, match="two documents at least"):
            split_held_out(pairs, count)
        return
    training, held_out = split_held_out(pairs, count)
    assert training
    assert len(training) + len(held_out) == len(pairs)
    assert bool(held_out) == bool(count)
    assert not {own.passage.document_id for own in training} & {own.passage.document_id for own in held_out}


def test_about_as_many_are_held_out_as_asked_for():
    pairs = [pair(str(number)) for number in range(100)]
    assert len(split_held_out(pairs, 7)[1]) == 7
    assert len(split_held_out(pairs, 1000)[1]) == 10  # a tenth at most
    again = split_held_out(list(reversed(pairs)), 7)[1]
    assert {own.passage.document_id for own in again} == {
        own.passage.document_id for own in split_held_out(pairs, 7)[1]
    }


def test_no_pairs_cannot_be_split():
    with pytest.raises(InvalidInputError, match="got 0 pairs of 0"):
        split_held_out([], 0)


def test_written_pairs_are_read_back(tmp_path):
    pairs = [
        SeedPair(passage("Łódź is a “city”.\nIt is old.", "Łódź", "one"), ('It is "old".', "Łódź\u2028is"), "gpt@1"),
        pair("two"),
    ]
    path = tmp_path / "pairs.jsonl"
    write_pairs(path, pairs)
    assert [own.name for own in tmp_path.iterdir()] == ["pairs.jsonl"]
    found = read_pairs(path)
    assert [own.propositions for own in found] == [own.propositions for own in pairs]
    assert [own.propositionizer for own in found] == ["gpt@1", "scripted"]
    for own, wanted in zip(found, pairs, strict=True):
        assert (own.passage.text, own.passage.title, own.passage.document_id) == (
            wanted.passage.text,
            wanted.passage.title,
            wanted.passage.document_id,
        )


def test_text_and_propositions_suffice(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(json.dumps({"text": text, "propositions": [text]}) for text in ("A b.", "C d.")) + "\n\n")
    assert Seeds(read_pairs(path)).pairs[1].propositions == ("C d.",)
    assert len({own.passage.document_id for own in read_pairs(path)}) == 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object"),
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


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnreadableFileError, match=r"none.jsonl cannot be read"):
        read_pairs(tmp_path / "none.jsonl")
