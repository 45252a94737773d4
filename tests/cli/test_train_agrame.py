"""`factoid train-agrame`, with a model of one layer."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")
pytest.importorskip("accelerate")
pytest.importorskip("datasets")

from factoid import AnyGranularityRanker
from factoid.training.rankers.examples import TrainingExample, write_examples
from tests.late_interaction.tiny_colbert import write_colbert

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the trainer
SHORT = [
    "--model",
    "tiny",
    "--epochs",
    "2",
    "--batch-size",
    "2",
    "--learning-rate",
    "0.01",
    "--cpu",
]
PASSAGES = ("The tower leans. The river is in Pisa.", "The ship sank. It was raised years later.")


@pytest.fixture
def tiny(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_colbert(tmp_path / "tiny")
    examples = [
        TrainingExample("What is in Pisa?", PASSAGES, (4.0, 0.0), ("river",)),
        TrainingExample("What sank?", PASSAGES[::-1], (4.0, 0.0), ("ship",)),
    ]
    write_examples(tmp_path / "data.jsonl", examples)
    write_examples(
        tmp_path / "scored.jsonl",
        [replace(each, sentence_scores=((4.0, 0.0), None)) for each in examples],
    )
    capsys.readouterr()  # a progress bar


def test_a_teacher_is_trained_and_a_model_from_it(run, fails, tiny, tmp_path):
    options = ["--output", "model", "--teacher-model", "tiny", *SHORT]
    code, out, err = run("train-agrame", "data.jsonl", *options)
    assert code == 0, err
    record = json.loads((tmp_path / "model" / "training.json").read_text())
    assert (record["training_examples"], record["steps"], record["ways"], record["sentences"]) == (
        2,
        2,
        2,
        8,
    )
    assert (tmp_path / "model" / "teacher" / "teacher.json").exists()
    assert len((tmp_path / "model" / "sentence_scores.jsonl").read_text().split()) > 2
    first, last = out.splitlines()
    assert first.startswith("trained on 2 queries with 2 passages (0 have fewer) in 2 steps, loss ")
    assert last == "model holds the model: AnyGranularityRanker('model')"
    assert len(AnyGranularityRanker("model").rank("What sank?", PASSAGES)) == 4
    assert "holds a finished model" in fails("train-agrame", "data.jsonl", *options)


def test_scores_in_the_examples_need_no_teacher(run, tiny):
    code, out, err = run("train-agrame", "scored.jsonl", "--output", "model", "--json", *SHORT)
    assert code == 0, err
    record = json.loads(out)
    assert (record["training_examples"], record["sentences"], record["output"]) == (2, 4, "model")


def test_the_format_of_colbert_with_answers_from_another_file(run, tiny, tmp_path):
    (tmp_path / "queries.tsv").write_text("1\tWhat is in Pisa?\n")
    (tmp_path / "collection.tsv").write_text(f"1\t{PASSAGES[0]}\n2\t{PASSAGES[1]}\n3\tNo.\n")
    (tmp_path / "examples.json").write_text("[1, [1, 3.5], [2, 0.5], [3, -1]]\n")
    files = ["--queries", "queries.tsv", "--collection", "collection.tsv"]
    teacher = ["--teacher-model", "tiny", "--teacher-examples", "data.jsonl"]
    code, _, err = run(
        "train-agrame",
        "examples.json",
        "--output",
        "model",
        "--ways",
        "2",
        *files,
        *teacher,
        *SHORT,
    )
    assert code == 0, err
    ranker = AnyGranularityRanker("model")
    coarse, finer = (
        ranker.encoder.encode_query("What is in Pisa?", finer=finer) for finer in (False, True)
    )
    assert not np.array_equal(coarse.vectors, finer.vectors)


def test_wrong_use_is_one_line(fails, tiny):
    base = ("train-agrame", "data.jsonl", "--output", "model", *SHORT)
    assert "no example has sentence_scores" in fails(*base)
    assert "--queries and --collection together" in fails(*base, "--queries", "data.jsonl")
    assert "and not both" in fails(*base, "--teacher", "tiny", "--teacher-model", "tiny")
    assert "--teacher-model with --teacher-examples" in fails(
        *base, "--teacher-examples", "data.jsonl"
    )
