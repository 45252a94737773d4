"""Readers: what is well-formed comes back as it stands, what is not is told with its line."""

from __future__ import annotations

import json

import pytest

from factoid.errors import UnreadableFileError
from factoid.training.rankers.examples import (
    TrainingExample,
    read_colbert_examples,
    read_examples,
    write_examples,
)

GOOD = {"query": "who?", "passages": ["One. Two.", "Three."], "scores": [1.5, -2]}


def test_what_is_written_is_read(tmp_path):
    examples = [
        TrainingExample("who?", ("One. Two.", "Three."), (1.5, -2.0)),
        TrainingExample(
            "où ?", ("Été. Deux.", "Trois."), (0.0, 1.0), ("Été", "Deux"), ((3.0, -1.0), None)
        ),
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
        ({"scores": [1.0]}, "scores for 2 passages, got 1"),
        ({"scores": [1.0, "x"]}, "could not convert"),
        ({"answers": [3]}, '"answers"'),
        ({"sentence_scores": [[1, 2]]}, "sentence_scores for 2 passages, got 1"),
        (
            {"sentence_scores": [[1], None]},
            "sentence_scores for each sentence of 'One. Two.', got 1",
        ),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path, change, expected):
    file = tmp_path / "data.jsonl"
    file.write_text(
        json.dumps(GOOD) + "\n" + json.dumps({**GOOD, **change}) + "\n", encoding="utf-8"
    )
    with pytest.raises(UnreadableFileError, match=f"data.jsonl:2: .*{expected}"):
        read_examples(file)


def test_an_answer_is_found_as_whole_words():
    example = TrainingExample(
        "what?", ("He ran home. She ran. We outran him.", "No."), (1, 0), ("ran home", "him")
    )
    assert example.holds_answer(0) == [True, False, True]
    assert TrainingExample("what?", ("The art. The party.", "No."), (1, 0), ("art",)).holds_answer(
        0
    ) == [True, False]


@pytest.fixture
def colbert_files(tmp_path):
    (tmp_path / "queries.tsv").write_text("7\twho came?\n8\tand when?\n")
    (tmp_path / "collection.tsv").write_text("0\tZero.\n1\tOne.\tA title\n2\tTwo.\n3\tThree.\n")
    (tmp_path / "examples.json").write_text(
        "[7, [1, 9.5], [3, -1], [0, 0.25]]\n[8, [2, 1], [0, 2]]\n"
    )
    return tmp_path / "examples.json", tmp_path / "queries.tsv", tmp_path / "collection.tsv"


def test_the_format_of_colbert_is_read(colbert_files):
    first, second = read_colbert_examples(*colbert_files)
    assert first == TrainingExample("who came?", ("One.", "Three.", "Zero."), (9.5, -1.0, 0.25))
    assert second == TrainingExample("and when?", ("Two.", "Zero."), (1.0, 2.0))
    limited, _ = read_colbert_examples(*colbert_files, ways=2)
    assert (limited.passages, limited.scores) == (("One.", "Three."), (9.5, -1.0))


@pytest.mark.parametrize(
    ("file", "line", "expected"),
    [
        (0, "[8", "JSON"),
        (0, '{"8": 1}', "ValueError"),
        (0, "[8, [1, 2, 3]]", "ValueError"),
        (0, "[8, [99, 1], [0, 2]]", "KeyError.*99"),
        (0, "[99, [1, 1], [0, 2]]", "KeyError.*99"),
        (0, "[8, [1, 1]]", "at least two passages"),
        (1, "8", "IndexError"),
        (2, "Caf\xe9", "UnicodeDecodeError"),
    ],
)
def test_bad_files_of_that_format_are_one_error(colbert_files, file, line, expected):
    with colbert_files[file].open("ab") as out:
        out.write(line.encode("latin-1") + b"\n")
    with pytest.raises(
        UnreadableFileError, match=rf"are not in ColBERTv2's format, or lack an id: .*{expected}"
    ):
        read_colbert_examples(*colbert_files)
