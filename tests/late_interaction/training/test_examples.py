"""Readers: what is well-formed comes back as it stands, what is not is told with its line."""

from __future__ import annotations

import json
import math

import pytest

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.late_interaction.training.examples import (
    TrainingExample,
    mark_sentence,
    read_colbert_examples,
    read_examples,
    write_examples,
)

GOOD = {"query": "who?", "passages": ["One. Two.", "Three."], "scores": [1.5, -2]}


def test_what_is_written_is_read(tmp_path):
    examples = [
        TrainingExample("who?", ("One. Two.", "Three."), (1.5, -2.0)),
        TrainingExample("où ?", ("Été. Deux.", "Trois."), (0.0, 1.0), ("Été", "Deux"), ((3.0, -1.0), None)),
    ]
    write_examples(tmp_path / "data.jsonl", examples)
    assert read_examples(tmp_path / "data.jsonl") == examples


def test_a_single_answer_and_a_byte_order_mark_are_read(tmp_path):
    file = tmp_path / "data.jsonl"
    file.write_text("\ufeff" + json.dumps({**GOOD, "answers": "Two"}) + "\n\n", encoding="utf-8")
    [example] = read_examples(file)
    assert example.answers == ("Two",)
    assert example.holds_answer(0) == [False, True]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"query": None}, '"query"'),
        ({"query": " "}, "none of them empty"),
        ({"passages": ["One."], "scores": [1]}, "at least two passages"),
        ({"passages": "One."}, '"passages"'),
        ({"passages": ["One.", 2]}, '"passages"'),
        ({"scores": [1.0]}, "for each of 2 passages"),
        ({"scores": [1.0, "2"]}, "finite number"),
        ({"scores": [1.0, True]}, "finite number"),
        ({"scores": None}, '"scores"'),
        ({"answers": [3]}, '"answers"'),
        ({"sentence_scores": [[1, 2]]}, "sentence_scores for 2 passages, got 1"),
        ({"sentence_scores": [[1], None]}, r"sentence_scores\[0\] for each of 2 sentences"),
        ({"sentence_scores": 3}, '"sentence_scores"'),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path, change, expected):
    file = tmp_path / "data.jsonl"
    file.write_text(json.dumps(GOOD) + "\n" + json.dumps({**GOOD, **change}) + "\n", encoding="utf-8")
    with pytest.raises(UnreadableFileError, match=f"data.jsonl:2: .*{expected}"):
        read_examples(file)


@pytest.mark.parametrize("line", ["[1, 2]", "{", '{"scores": NaN}'])
def test_a_line_that_is_no_object_is_told_with_its_number(tmp_path, line):
    file = tmp_path / "data.jsonl"
    file.write_text(json.dumps(GOOD) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(UnreadableFileError, match=r"data.jsonl:2: "):
        read_examples(file)


def test_scores_must_be_finite():
    with pytest.raises(InvalidInputError, match="finite number in scores"):
        TrainingExample("who?", ("One.", "Two."), (1.0, math.nan))


def test_an_answer_is_found_as_whole_words():
    example = TrainingExample("what?", ("He ran home. She ran. We outran him.", "No."), (1, 0), ("ran home", "him"))
    assert example.holds_answer(0) == [True, False, True]
    assert TrainingExample("what?", ("The art. The party.", "No."), (1, 0), ("art",)).holds_answer(0) == [True, False]


def test_a_sentence_is_marked_in_its_place():
    assert mark_sentence("One. Two. Three.", (5, 9)) == "One. $Two.$ Three."


@pytest.fixture
def colbert_files(tmp_path):
    (tmp_path / "queries.tsv").write_text("7\twho came?\n8\tand when?\n")
    (tmp_path / "collection.tsv").write_text("0\tZero.\n1\tOne.\tA title\n2\tTwo.\n3\tThree.\n")
    (tmp_path / "examples.json").write_text("[7, [1, 9.5], [3, -1], [0, 0.25]]\n[8, [2, 1], [0, 2]]\n")
    return tmp_path / "examples.json", tmp_path / "queries.tsv", tmp_path / "collection.tsv"


def test_the_format_of_colbert_is_read(colbert_files):
    first, second = read_colbert_examples(*colbert_files)
    assert first == TrainingExample("who came?", ("One.", "Three.", "Zero."), (9.5, -1.0, 0.25))
    assert second == TrainingExample("and when?", ("Two.", "Zero."), (1.0, 2.0))
    [limited] = read_colbert_examples(*colbert_files, ways=2, limit=1)
    assert (limited.passages, limited.scores) == (("One.", "Three."), (9.5, -1.0))


@pytest.mark.parametrize(
    ("file", "line", "expected"),
    [
        (0, "[8]", r"examples.json:3: expected \[query id"),
        (0, '{"8": 1}', r"examples.json:3: expected \[query id"),
        (0, "[8, [1, 2, 3]]", r"examples.json:3: expected \[query id"),
        (0, '[8, [1, "2"], [2, 1]]', "examples.json:3: expected a passage id and its score"),
        (0, "[8, [99, 1], [0, 2]]", "collection.tsv has no text with the id 99"),
        (0, "[99, [1, 1], [0, 2]]", "queries.tsv has no text with the id 99"),
        (0, "[8, [1, 1]]", "examples.json:3: .*at least two passages"),
        (1, "9", "queries.tsv:3: expected an id, a tab and a text"),
        (2, "9\t ", "collection.tsv:5: expected an id, a tab and a text"),
    ],
)
def test_bad_lines_of_that_format_are_told_with_their_number(colbert_files, file, line, expected):
    with colbert_files[file].open("a") as out:
        out.write(line + "\n")
    with pytest.raises(UnreadableFileError, match=expected):
        read_colbert_examples(*colbert_files)


def test_text_in_another_encoding_is_told_with_its_number(colbert_files):
    colbert_files[2].write_bytes(b"0\tZero.\n1\tCaf\xe9.\n")
    with pytest.raises(UnreadableFileError, match=r"collection.tsv:2: not UTF-8"):
        read_colbert_examples(*colbert_files)
