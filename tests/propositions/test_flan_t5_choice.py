"""What a FlanT5Propositionizer runs on, what it is called, and what it says of models that it
cannot run.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

from factoid.errors import InvalidInputError, MissingDependencyError, PropositionizerError
from factoid.propositions import engines
from factoid.propositions.engines import choose
from factoid.propositions.flan_t5 import FlanT5Propositionizer
from tests.propositions.tiny_t5 import CITIES, about, facts, train

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture
def machine(monkeypatch):
    """Returns a function that says what the machine has."""

    def has(ctranslate2=False, cuda=(0, 0), amx=False):
        monkeypatch.setattr(engines, "find_spec", lambda name: ctranslate2 or None)
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
        kind = "cuda" if cuda > (0, 0) else "cpu"
        monkeypatch.setattr(
            engines, "usable_device", lambda device, **_: torch.device(device or kind)
        )
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)

    return has


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        ({}, ("transformers", "cpu", "float32")),
        ({"ctranslate2": True}, ("ctranslate2", "cpu", "int8")),
        ({"ctranslate2": True, "amx": True}, ("transformers", "cpu", "bfloat16")),
        ({"ctranslate2": True, "cuda": (7, 5)}, ("transformers", "cuda", "float16")),
        ({"ctranslate2": True, "cuda": (8, 0)}, ("transformers", "cuda", "bfloat16")),
    ],
    ids=["CPU", "CPU with the extra fast", "AMX", "T4", "A100"],
)
def test_auto_is_what_suits_the_machine(machine, has, expected):
    machine(**has)
    assert choose("auto", None, None) == expected


def test_what_is_asked_for_is_what_runs(machine):
    machine()
    assert choose("transformers", torch.device("cuda", 1), torch.bfloat16) == (
        "transformers",
        "cuda:1",
        "bfloat16",
    )
    assert choose("ctranslate2", "cuda:1", None) == ("ctranslate2", "cuda:1", "float16")
    assert (
        choose("auto", "cpu", "int8")
        == choose("ctranslate2", None, None)
        == ("ctranslate2", "cpu", "int8")
    )
    for engine, dtype in (("vllm", None), ("auto", torch.int32), ("transformers", "int8")):
        with pytest.raises(InvalidInputError, match="expected an engine and one of its dtypes"):
            choose(engine, "cpu", dtype)


def test_name_is_what_the_output_depends_on(machine):
    machine(ctranslate2=True)
    for options, name in (
        ({"dtype": "float32", "engine": "ctranslate2"}, "a/b@v1"),
        ({"dtype": "float32", "engine": "transformers", "copy": False}, "a/b@v1"),
        ({"dtype": "float32", "max_new_tokens": 64}, "a/b@v1:max_new_tokens=64"),
        ({"dtype": "bfloat16", "engine": "transformers"}, "a/b@v1:bfloat16"),
        ({}, "a/b@v1:ctranslate2-int8"),
    ):
        assert FlanT5Propositionizer("a/b", revision="v1", **options).name == name


_NAMES = """
from factoid import FlanT5Propositionizer
for revision in (None, "main", "tagged", "absent", "b" * 40):
    print(FlanT5Propositionizer("nobody/model", revision=revision, dtype="float32").name)
"""


def test_the_name_of_a_model_of_the_hub_holds_its_commit(tmp_path):
    model = tmp_path / "models--nobody--model"
    for branch, commit in {"main": "a" * 40, "tagged": "c" * 40}.items():
        (model / "refs").mkdir(parents=True, exist_ok=True)
        (model / "refs" / branch).write_text(commit)
        (model / "snapshots" / commit).mkdir(parents=True)
        (model / "snapshots" / commit / "config.json").write_text("{}")
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _NAMES], env=environment, capture_output=True, text=True, check=True
    )
    commits = ["a" * 40, "a" * 40, "c" * 40, "absent", "b" * 40]
    assert done.stdout.split() == [f"nobody/model@{commit}" for commit in commits]


def test_the_name_of_a_folder_is_that_of_its_weights(tiny_t5, tmp_path, monkeypatch):
    copied = shutil.copytree(tiny_t5, tmp_path / "copied")
    file = copied / "model.safetensors"

    def name(folder):
        return FlanT5Propositionizer(folder, dtype="float32").name

    before = name(copied)
    assert before == name(tiny_t5)
    assert re.fullmatch("weights [0-9a-f]{12}", before)
    monkeypatch.chdir(tmp_path)
    assert name("copied") == before

    (copied / "README.md").write_text("A page about the model.")
    config = json.loads((copied / "config.json").read_text())
    config |= {"transformers_version": "9.9", "_name_or_path": "/somewhere"}
    (copied / "config.json").write_text(json.dumps(config))
    assert name(copied) == before
    (copied / "config.json").write_text(json.dumps(config | {"num_layers": 9}))
    assert name(copied) != before
    (copied / "config.json").write_text(json.dumps(config))
    assert name(copied) == before

    weights = bytearray(file.read_bytes())
    weights[len(weights) // 2] ^= 1
    file.write_bytes(weights)
    assert name(copied) != before


def test_a_cpu_without_amx_runs_int8(tiny_t5, machine):
    pytest.importorskip("ctranslate2")
    machine(ctranslate2=True)
    propositionizer = FlanT5Propositionizer(tiny_t5)
    assert propositionizer.propositionize([about(city) for city in CITIES]) == [
        facts(city) for city in CITIES
    ]
    assert propositionizer.name.endswith(":ctranslate2-int8")


def test_another_architecture_runs_without_drafts(tmp_path, caplog):
    """With random weights: what counts is that it runs, says so, and is deterministic."""
    train(tmp_path)
    sizes = {
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16,
    }
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "vocab_size": 80}
    tokens = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2, "decoder_start_token_id": 1}
    config = transformers.BartConfig(
        **sizes, **heads, **tokens, forced_eos_token_id=None, max_position_embeddings=64
    )
    transformers.BartForConditionalGeneration(config).save_pretrained(tmp_path)
    propositionizer = FlanT5Propositionizer(
        tmp_path, engine="transformers", device="cpu", max_new_tokens=20
    )
    if find_spec("ctranslate2"):
        with pytest.raises(PropositionizerError, match=r"is bart.*engine=\"transformers\""):
            FlanT5Propositionizer(tmp_path, device="cpu", engine="ctranslate2").propositionize(
                [about("Pisa")]
            )
    with caplog.at_level(logging.INFO, "factoid"):
        [result] = propositionizer.propositionize([about("Pisa")])
    assert "(bart) decodes with transformers' own generate" in caplog.text
    assert result.reason in {"output cut off", "unreadable output", "empty output"}


def test_a_model_that_is_not_there_or_damaged(tmp_path, tiny_t5):
    damaged = shutil.copytree(tiny_t5, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"no weights")
    for name in (tmp_path / "nothing", "nobody/no-such-model", damaged):
        with pytest.raises(
            PropositionizerError, match=rf"cannot load .*{re.escape(str(name))}.*hf download"
        ):
            FlanT5Propositionizer(name, engine="transformers").propositionize([about("Pisa")])


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_a_missing_extra(monkeypatch, missing, tiny_t5):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingDependencyError, match=re.escape('pip install "factoid[models]"')):
        FlanT5Propositionizer(tiny_t5, engine="transformers").propositionize([about("Pisa")])
