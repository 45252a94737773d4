"""The published file format, and files that are not of it."""

from __future__ import annotations

import pytest

from factoid.errors import UnreadableFileError
from tests.entities.spel import tiny_spel

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from factoid.entities.spel.model import read_checkpoint  # noqa: E402


@pytest.fixture
def model():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        config = tiny_spel.config(tiny_spel.make_tokenizer(), hidden_size=128, num_attention_heads=2)
        return transformers.RobertaForMaskedLM(config).eval(), torch.nn.Embedding(9, 128)


@pytest.fixture
def path(tmp_path, model):
    return tiny_spel.save_checkpoint(tmp_path / "spel.pt", *model)


def test_the_encoder_gives_the_last_hidden_state_of_the_language_model(path, model):
    encoder, out = read_checkpoint(path)
    tokens = torch.tensor([[0, 270, 300, 1, 280, 2], [0, 1, 1, 262, 263, 2]])
    with torch.no_grad():
        mask = torch.ones_like(tokens)
        expected = model[0](tokens, attention_mask=mask, output_hidden_states=True).hidden_states[-1]
        assert torch.equal(encoder(tokens, attention_mask=mask).last_hidden_state, expected)
    assert torch.equal(out, model[1].weight)
    assert not encoder.training


def test_half_precision_is_read_as_float32(path, model):
    content = torch.load(path, weights_only=True)
    content["out"]["weight"] = content["out"]["weight"].half()
    torch.save(content, path)
    assert torch.equal(read_checkpoint(path)[1], model[1].weight.half().float())


BIAS = "encoder.layer.1.output.dense.bias"


@pytest.mark.parametrize(
    ("part", "name", "value", "reason"),
    [
        ("out", "weight", None, "KeyError: 'weight'"),
        ("out", "weight", torch.zeros((9, 64)), r"expected \(entities, 128\)"),
        ("bert_lm", "roberta.encoder.extra", torch.zeros(2), "Unexpected key.*encoder.extra"),
        ("bert_lm", f"roberta.{BIAS}", torch.zeros(3), "size mismatch"),
        ("bert_lm", f"roberta.{BIAS}", None, f"Missing key.*{BIAS}"),
        ("bert_lm", "roberta.embeddings.word_embeddings.weight", None, "KeyError: .*word_emb"),
    ],
)
def test_foreign_content_is_refused(path, part, name, value, reason):
    content = torch.load(path, weights_only=True)
    content[part][name] = value
    if value is None:
        del content[part][name]
    torch.save(content, path)
    with pytest.raises(UnreadableFileError, match=f"not a SpEL checkpoint, .*{reason}"):
        read_checkpoint(path)


class Code:
    """Unpickled without care, this would write a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_code_is_refused_and_not_run(path, tmp_path):
    proof = tmp_path / "proof"
    content = torch.load(path, weights_only=True)
    torch.save({**content, "epoch": Code(proof)}, path)
    with pytest.raises(UnreadableFileError, match=r"holds more than tensors.* holds code, is refused") as caught:
        read_checkpoint(path)
    assert "weights_only" not in str(caught.value)  # what PyTorch advises would run the code
    assert not proof.exists()


@pytest.mark.parametrize("damage", [0, 100, -1, b"\x80\x02."])
def test_other_and_truncated_files_are_refused(path, damage):
    path.write_bytes(damage if isinstance(damage, bytes) else path.read_bytes()[:damage])
    with pytest.raises(UnreadableFileError, match="cannot read the checkpoint"):
        read_checkpoint(path)
    path.unlink()
    with pytest.raises(UnreadableFileError, match="there is no checkpoint"):
        read_checkpoint(path)


def test_a_changed_bit_is_noticed_and_its_part_named(path):
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(UnreadableFileError, match=r"spel/data/\d+ has changed since it was written"):
        read_checkpoint(path)
