"""`factoid train-propositionizer`, with a model of one layer."""

from __future__ import annotations

import json

import pytest

from factoid import FlanT5Propositionizer
from factoid.training.propositionizers.seeds import read_pairs
from tests.cli.conftest import PISA, VASA

pytest.importorskip("accelerate")

from tests.tiny_t5 import write_untrained

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the trainer

SHORT = [
    "--base-model",
    "tiny",
    "--epochs",
    "1",
    "--batch-size",
    "2",
    "--device-batch-size",
    "1",
    "--cpu",
]


@pytest.fixture
def tiny(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_untrained(
        tmp_path / "tiny", [PISA, VASA, 'Title: . Section: . Content: History["],'], limit=512
    )
    capsys.readouterr()  # a progress bar


def test_documents_become_pairs_and_a_model(run, docs, tiny, tmp_path):
    code, out, err = run("train-propositionizer", docs, "--output", "model", *SHORT)
    assert code == 0, err
    folder = tmp_path / "model"
    pairs = read_pairs(folder / "pairs.jsonl")
    assert [len(own.propositions) for own in pairs] == [2, 2, 2]
    assert {own.propositionizer for own in pairs} == {"scripted"}
    record = json.loads((folder / "training.json").read_text())
    assert (record["training_pairs"] + record["held_out_pairs"], record["held_out_pairs"] > 0) == (
        3,
        True,
    )
    assert out.splitlines()[0] == "3 pairs kept, 0 dropped: model/pairs.jsonl"
    assert f"F1 {record['score']['f1']:.3f}" in out
    assert FlanT5Propositionizer(folder, device="cpu").propositionize([]) == []
    assert (folder / "propositions.sqlite").exists()


def test_pairs_can_be_made_first_and_trained_on_later(run, docs, tiny):
    code, out, _ = run(
        "train-propositionizer", docs, "--output", "seeds", "--pairs-only", "--passages", "2"
    )
    assert (code, out) == (0, "2 pairs kept, 0 dropped: seeds/pairs.jsonl\n")
    options = ["--pairs", "seeds/pairs.jsonl", "--output", "model", "--held-out", "0", *SHORT]
    record = json.loads(run("train-propositionizer", *options, "--json")[1])
    assert (record["training_pairs"], record["steps"], record["score"]) == (2, 1, None)


def test_wrong_use_is_one_line(fails, docs, tmp_path):
    assert "--pairs FILE, and not both" in fails(
        "train-propositionizer", "--output", tmp_path / "model"
    )
    pairs = ["--pairs", tmp_path / "none.jsonl", "--output", tmp_path / "model"]
    assert "not both" in fails("train-propositionizer", docs, *pairs)
    assert "none.jsonl cannot be read" in fails("train-propositionizer", *pairs)
