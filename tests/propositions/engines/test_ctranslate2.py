"""The CTranslate2 engine against transformers' greedy search, and the conversion that it rests
on.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from factoid.errors import PropositionizerError
from factoid.propositions.engines.checkpoint import Checkpoint
from factoid.propositions.engines.ctranslate2_engine import CTranslate2Engine, converted
from tests.propositions.tiny_t5 import greedy, random_inputs, random_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("ctranslate2")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FACTOID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ctranslate2"


@pytest.fixture
def conversions(monkeypatch):
    """Counts conversions."""
    from ctranslate2.converters import TransformersConverter

    seen = []
    convert = TransformersConverter.convert
    monkeypatch.setattr(
        TransformersConverter,
        "convert",
        lambda *args, **kwargs: seen.append(args) or convert(*args, **kwargs),
    )
    return seen


def saved(folder, seed, kind="t5"):
    model = random_model(seed, kind)
    model.save_pretrained(folder)
    vocab = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0), ("▁", -2.0)]
    vocab += [(f"▁w{number}", -3.0) for number in range(len(vocab), model.config.vocab_size)]
    transformers.T5Tokenizer(vocab=vocab, extra_ids=0).save_pretrained(folder)
    return Checkpoint(str(folder), None)


@pytest.mark.parametrize("kind", ["t5", "mt5"])
@pytest.mark.parametrize("seed", range(5))
def test_float32_output_is_that_of_greedy_search(tmp_path, kind, seed):
    checkpoint = saved(tmp_path / "model", seed, kind)
    model = checkpoint.model(torch.float32)
    inputs = [row for row in random_inputs(seed, model.config.vocab_size) if len(row) > 1]
    engine = CTranslate2Engine(checkpoint, device="cpu", dtype="float32")
    for limit in (1, 7, 70):
        outputs = dict(engine.generate(inputs, limit))
        assert [tuple(outputs[position]) for position in range(len(inputs))] == greedy(
            model, inputs, limit
        )


def test_a_model_is_converted_once_for_each_content_and_type(tmp_path, cache, conversions):
    checkpoint = saved(tmp_path / "model", 1)
    first = converted(checkpoint, "float32")
    assert (converted(checkpoint, "float32"), first.parent) == (first, cache)
    eight = converted(checkpoint, "int8")
    changed = converted(saved(tmp_path / "model", 2), "float32")
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    assert converted(saved(tmp_path / "model", 1), "float32") == first
    assert {path for path in cache.iterdir() if path.is_dir()} == {first, eight, changed}
    assert len(conversions) == 3


def test_a_conversion_that_fails_leaves_nothing(tiny_t5, cache, monkeypatch):
    def broken(self, target, **_):
        Path(target).mkdir()
        raise KeyboardInterrupt

    checkpoint = Checkpoint(str(tiny_t5), None)
    with monkeypatch.context() as patched:
        patched.setattr("ctranslate2.converters.TransformersConverter.convert", broken)
        with pytest.raises(KeyboardInterrupt):
            converted(checkpoint, "float32")
    assert [path for path in cache.iterdir() if path.is_dir()] == []
    assert (converted(checkpoint, "float32") / "model.bin").exists()


def test_where_the_cache_is(tiny_t5, tmp_path, monkeypatch):
    checkpoint = Checkpoint(str(tiny_t5), None)
    monkeypatch.delenv("FACTOID_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert converted(checkpoint, "float32").parents[1] == tmp_path / "xdg" / "factoid"
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FACTOID_CACHE", str(tmp_path / "file"))
    with pytest.raises(PropositionizerError, match="FACTOID_CACHE"):
        converted(checkpoint, "float32")
