"""The published file format, and files that are not of it."""

from __future__ import annotations

import random
import zipfile

import pytest

from factoid.errors import UnreadableFileError
from tests.entities.spel import tiny_spel

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from factoid.entities.spel.checkpoint import read_checkpoint  # noqa: E402


@pytest.fixture
def model():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        config = tiny_spel.config(tiny_spel.make_tokenizer(), hidden_size=128, num_attention_heads=2)
        return transformers.RobertaForMaskedLM(config).eval(), torch.nn.Embedding(9, 128)


@pytest.fixture
def path(tmp_path, model):
    return tiny_spel.save_checkpoint(tmp_path / "spel.pt", *model)


def changed(path, change):
    """Change what a checkpoint holds."""
    found = torch.load(path, weights_only=True)
    change(found)
    torch.save(found, path)
    return path


def test_the_encoder_gives_the_last_hidden_state_of_the_language_model(path, model):
    weights = read_checkpoint(path)
    encoder = weights.build("cpu")
    tokens = torch.tensor([[0, 270, 300, 1, 280, 2], [0, 1, 1, 262, 263, 2]])
    with torch.no_grad():
        mask = torch.ones_like(tokens)
        expected = model[0](tokens, attention_mask=mask, output_hidden_states=True).hidden_states[-1]
        assert torch.equal(encoder(tokens, attention_mask=mask).last_hidden_state, expected)
    assert torch.equal(weights.out, model[1].weight)
    assert not encoder.training


def test_sizes_come_from_the_shapes(path, model):
    sizes = read_checkpoint(path).sizes
    config = model[0].config
    for name in sizes.__dataclass_fields__:
        assert getattr(sizes, name) == getattr(config, name), name
    assert sizes.limit == 512


def test_loading_takes_no_random_numbers_from_the_caller(path):
    before = torch.get_rng_state()
    read_checkpoint(path).build("cpu")
    assert torch.equal(before, torch.get_rng_state())


def test_half_precision_is_read_as_float32(path):
    def halve(found):
        found["bert_lm"] = {
            name: each.half() if each.is_floating_point() else each for name, each in found["bert_lm"].items()
        }

    weights = read_checkpoint(changed(path, halve))
    assert {each.dtype for each in weights.encoder.values()} == {torch.float32}


def test_a_file_of_the_older_format_without_zip_is_read(path, model):
    torch.save(torch.load(path, weights_only=True), path, _use_new_zipfile_serialization=False)
    assert torch.equal(read_checkpoint(path).out, model[1].weight)


@pytest.mark.parametrize("key", ["bert_lm", "number_of_bert_layers", "bert_lm_h", "out"])
def test_every_key_must_be_there(path, key):
    with pytest.raises(
        UnreadableFileError, match="expected a dict with bert_lm, number_of_bert_layers, bert_lm_h, out"
    ):
        read_checkpoint(changed(path, lambda found: found.pop(key)))


def drop(name):
    return lambda found: found["bert_lm"].pop(name)


def put(*keys, value):
    def change(found):
        for key in keys[:-1]:
            found = found[key]
        found[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("bert_lm", value=torch.zeros(2)), "expected a state dict as bert_lm"),
        (put("bert_lm", value={}), "neither"),
        (put("out", value={"bias": torch.zeros(2)}), "expected weight in out, got bias"),
        (put("out", "weight", value=torch.zeros((9, 64))), "expected \\(entities, 128\\)"),
        (put("out", "weight", value=torch.zeros(9)), "expected \\(entities, 128\\)"),
        (put("out", "weight", value=[1.0]), "something else as out.weight"),
        (put("out", "weight", value=torch.zeros((9, 128), dtype=torch.int64)), "something else as out.weight"),
        (put("number_of_bert_layers", value=13), "number_of_bert_layers and bert_lm_h are \\(13, 128\\)"),
        (put("bert_lm_h", value=768), "the tensors' are \\(3, 128\\)"),
        (put("bert_lm", "encoder.bert", value=torch.zeros(2)), "got encoder.bert"),
        (drop("roberta.embeddings.word_embeddings.weight"), "word_embeddings.weight' is missing"),
    ],
)
def test_foreign_content_is_refused(path, change, reason):
    with pytest.raises(UnreadableFileError, match=reason):
        read_checkpoint(changed(path, change))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (drop("roberta.encoder.layer.1.attention.self.key.bias"), "missing encoder.layer.1.attention.self.key.bias"),
        (put("bert_lm", "roberta.encoder.extra", value=torch.zeros(2)), "unexpected encoder.extra"),
        (put("bert_lm", "roberta.encoder.layer.1.output.dense.bias", value=torch.zeros(3)), "of another shape"),
    ],
)
def test_tensors_of_another_model_are_refused(path, change, reason):
    weights = read_checkpoint(changed(path, change))
    with pytest.raises(UnreadableFileError, match=reason):
        weights.build("cpu")


def test_too_few_positions_for_windows_are_refused(path):
    small = put("bert_lm", "roberta.embeddings.position_embeddings.weight", value=torch.zeros((130, 128)))
    with pytest.raises(UnreadableFileError, match="130 positions: expected"):
        read_checkpoint(changed(path, small))


def test_what_is_no_dict_is_refused(path):
    torch.save(torch.zeros(3), path)
    with pytest.raises(UnreadableFileError, match="got Tensor"):
        read_checkpoint(path)


class Code:
    """Unpickled without care, this would write a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("zipped", [True, False])
def test_code_is_refused_and_not_run(path, tmp_path, zipped):
    proof = tmp_path / "proof"
    found = torch.load(path, weights_only=True)
    torch.save({**found, "epoch": Code(proof)}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(
        UnreadableFileError, match=r"holds io\.open, which is no tensor .* holds code, is refused"
    ) as caught:
        read_checkpoint(path)
    assert "weights_only" not in str(caught.value)  # what PyTorch advises would run the code
    assert not proof.exists()


def test_a_flipped_bit_is_noticed_wherever_it_matters(path):
    whole, raw = read_checkpoint(path), path.read_bytes()
    tensors = {**whole.encoder, "out": whole.out}
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    del whole  # it maps the file
    chance, refused = random.Random(5), 0
    places = [len(raw) // 2, *(chance.randrange(len(raw)) for _ in range(40)), *range(len(raw) - 900, len(raw), 20)]
    for at in places:
        changed = bytearray(raw)
        changed[at] ^= 1 << chance.randrange(8)
        path.unlink()
        path.write_bytes(changed)
        try:
            weights = read_checkpoint(path)
        except UnreadableFileError:
            refused += 1
            continue
        found = {**weights.encoder, "out": weights.out}
        assert found.keys() == tensors.keys()
        assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items()), at
    assert refused > 40


def test_the_damaged_part_is_named(path):
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(
        UnreadableFileError, match=r"spel/data/\d+ has changed since it was written .* Get the file again"
    ):
        read_checkpoint(path)


def test_compressed_parts_are_refused(path):
    """They would be mapped as if they were numbers."""
    with zipfile.ZipFile(path) as parts:
        held = {name: parts.read(name) for name in parts.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, part in held.items():
            packed.writestr(name, part)
    with pytest.raises(UnreadableFileError, match=r"spel/data\.pkl is compressed"):
        read_checkpoint(path)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["out.weight", "encoder.layer.1.output.dense.weight"])
def test_numbers_that_are_none_are_refused(path, wrong, name):
    def change(found):
        tensor = found["out"]["weight"] if name == "out.weight" else found["bert_lm"][f"roberta.{name}"]
        tensor[3, 5] = wrong

    with pytest.raises(UnreadableFileError, match=rf"1 of the \S+ values of {name} are .* at \[3, 5\]"):
        read_checkpoint(changed(path, change))


def test_large_numbers_are_numbers(path):
    largest = torch.finfo(torch.float32).max
    weights = read_checkpoint(changed(path, lambda found: found["out"]["weight"].fill_(largest)))
    assert (weights.out == largest).all()


@pytest.mark.parametrize("zipped", [True, False])
def test_no_advice_of_pytorch_is_passed_on(path, zipped):
    torch.save({"bert_lm": set()}, path, _use_new_zipfile_serialization=zipped)
    for content in (path.read_bytes(), b"not a checkpoint"):
        path.write_bytes(content)
        with pytest.raises(UnreadableFileError) as caught:
            read_checkpoint(path)
        assert not {"weights_only", "torch.load", "\x1b"} & set(str(caught.value).replace("`", " ").split())
        assert "Re-running" not in str(caught.value)


@pytest.mark.parametrize("left", [0, 1, 100, 0.5, 0.99, -1])
def test_a_truncated_file_is_refused(path, left):
    raw = path.read_bytes()
    path.write_bytes(raw[: int(left * len(raw)) if isinstance(left, float) else left])
    with pytest.raises(UnreadableFileError, match="cannot read the checkpoint"):
        read_checkpoint(path)


@pytest.mark.parametrize("raw", [b"not a checkpoint", b"hello", b"\x80\x02.", b"<html>", b"PK\x03\x04 broken"])
def test_other_files_are_refused(path, raw):
    path.write_bytes(raw)
    with pytest.raises(UnreadableFileError, match="cannot read the checkpoint"):
        read_checkpoint(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UnreadableFileError, match="there is no checkpoint"):
        read_checkpoint(tmp_path / "spel.pt")
