"""The published files: checkpoint, vocabulary and tokenizer, and files that are not of that
form.
"""

from __future__ import annotations

import pytest

from factoid.errors import InvalidInputError, UnreadableFileError
from tests.entities.spel import tiny_spel

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from factoid.entities.spel.model import SpELModel, read_checkpoint, read_titles  # noqa: E402


@pytest.fixture
def model():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        config = tiny_spel.config(
            tiny_spel.make_tokenizer(), hidden_size=128, num_attention_heads=2
        )
        return transformers.RobertaForMaskedLM(config).eval(), torch.nn.Embedding(9, 128)


@pytest.fixture
def path(tmp_path, model):
    return tiny_spel.save_checkpoint(tmp_path / "spel.pt", *model)


def test_the_encoder_gives_the_last_hidden_state_of_the_language_model(path, model):
    encoder, out = read_checkpoint(path)
    tokens = torch.tensor([[0, 270, 300, 1, 280, 2], [0, 1, 1, 262, 263, 2]])
    with torch.no_grad():
        mask = torch.ones_like(tokens)
        expected = model[0](tokens, attention_mask=mask, output_hidden_states=True).hidden_states[
            -1
        ]
        assert torch.equal(encoder(tokens, attention_mask=mask).last_hidden_state, expected)
    assert torch.equal(out, model[1].weight)
    assert not encoder.training


def test_half_precision_is_read_as_float32(path, model):
    content = torch.load(path, weights_only=True)
    content["out"]["weight"] = content["out"]["weight"].half()
    torch.save(content, path)
    assert torch.equal(read_checkpoint(path)[1], model[1].weight.half().float())


def load(folder, **options):
    return SpELModel(folder, folder, **{"top_k": 3, "device": "cpu", **options})


def test_predictions_are_the_best_of_a_softmax_over_the_last_layer(spel_folder):
    encoder, out = read_checkpoint(spel_folder / tiny_spel.CHECKPOINT)
    tokens = [0, *range(262, 300), 2]
    with torch.no_grad():
        last = encoder(torch.tensor([tokens]), output_hidden_states=True).hidden_states[-1][0]
    probabilities, ids = (last.double() @ out.double().T).softmax(-1).topk(3)
    predicted = load(spel_folder).predict(tokens)
    assert [list(prediction) for prediction in predicted] == ids.tolist()
    for prediction, expected in zip(predicted, probabilities.tolist(), strict=True):
        assert list(prediction.values()) == pytest.approx(expected, abs=1e-5)
    assert len(load(spel_folder, top_k=50).predict(tokens)[0]) == len(tiny_spel.ENTRIES)


def test_titles_are_those_of_the_lines_in_the_published_order(tmp_path):
    tiny_spel.write_vocabulary(tmp_path)
    titles = [
        "",
        "",
        *"Ada Lovelace|Lava|Basel|Mount Etna|Comet||Mira (star)|Harbor 's End".split("|"),
    ]
    assert read_titles(tmp_path, 10) == titles
    assert read_titles(tmp_path, 5) == titles[:5]  # a shrunk checkpoint knows aida.txt only
    with pytest.raises(InvalidInputError, match=r"10 entries.* 11 rows: a file is cut short"):
        read_titles(tmp_path, 11)
    (tmp_path / "out_of_domain.txt").unlink()
    with pytest.raises(
        InvalidInputError, match=r"8 entries.* 10 rows: out_of_domain\.txt is missing"
    ):
        read_titles(tmp_path, 10)
    (tmp_path / "aida.txt").write_bytes("One\rTwo\x85Three\nFour".encode())  # only "\n" ends a line
    assert read_titles(tmp_path, 4)[3] == "Four"


class Code:
    """Unpickled without care, this would write a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_code_is_refused_and_not_run(path, tmp_path):
    proof = tmp_path / "proof"
    tiny_spel.make_tokenizer(tmp_path)
    content = torch.load(path, weights_only=True)
    torch.save({**content, "epoch": Code(proof)}, path)
    with pytest.raises(UnreadableFileError, match="holds code") as caught:
        load(tmp_path)
    assert "weights_only" not in str(caught.value)  # what PyTorch advises would run the code
    assert not proof.exists()


def test_foreign_and_truncated_files_are_refused(path, tmp_path):
    tiny_spel.make_tokenizer(tmp_path)
    content, raw = torch.load(path, weights_only=True), path.read_bytes()
    del content["bert_lm"]["roberta.encoder.layer.1.output.dense.bias"]
    torch.save(content, path)
    with pytest.raises(
        UnreadableFileError, match=r"cannot load .*spel\.pt with the tokenizer"
    ) as caught:
        load(tmp_path)
    assert caught.value.__cause__ is not None
    path.write_bytes(raw[:-100])
    with pytest.raises(UnreadableFileError, match="Expected a whole checkpoint"):
        load(tmp_path)
    (tmp_path / "other.pt").touch()
    with pytest.raises(UnreadableFileError, match=r"found other\.pt, spel\.pt"):
        load(tmp_path)
