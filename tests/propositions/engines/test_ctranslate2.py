"""The CTranslate2 engine against transformers' greedy search, and the conversion that it rests on."""

from __future__ import annotations

import pytest

from factoid.errors import PropositionizerError
from factoid.propositions.engines import ctranslate2_engine
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
    seen = []
    convert = ctranslate2_engine._convert
    monkeypatch.setattr(ctranslate2_engine, "_convert", lambda *args: seen.append(args) or convert(*args))
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
    engine = CTranslate2Engine(checkpoint, device="cpu", compute_type="float32")
    for limit in (1, 7, 70):
        expected = greedy(model, inputs, limit)
        assert [tuple(written) for written in engine.generate(inputs, limit)] == expected


def test_a_model_is_converted_once_for_each_content_and_type(tmp_path, cache, conversions):
    checkpoint = saved(tmp_path / "model", 1)
    first = converted(checkpoint, "float32")
    assert (converted(checkpoint, "float32"), first.parent) == (first, cache)
    eight = converted(checkpoint, "int8_float32")
    changed = converted(saved(tmp_path / "model", 2), "float32")
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    assert converted(saved(tmp_path / "model", 1), "float32") == first
    assert {path.name for path in cache.iterdir()} == {first.name, eight.name, changed.name}
    assert len(conversions) == 3


def test_a_conversion_that_fails_or_is_killed_leaves_nothing(tiny_t5, cache, monkeypatch):
    def broken(checkpoint, source, target, quantization):
        target.mkdir()
        (target / "model.bin").write_bytes(b"half")
        raise KeyboardInterrupt

    checkpoint = Checkpoint(str(tiny_t5), None)
    with monkeypatch.context() as patched:
        patched.setattr(ctranslate2_engine, "_convert", broken)
        with pytest.raises(KeyboardInterrupt):
            converted(checkpoint, "float32")
    assert list(cache.iterdir()) == []
    folder = converted(checkpoint, "float32")
    part = folder.rename(cache / f".{folder.name}.1.part")  # as a kill leaves it
    part.with_name(f"{part.name}.lock").touch()
    assert converted(checkpoint, "float32") == folder
    assert list(cache.iterdir()) == [folder]


def test_a_damaged_conversion_is_one_clear_error(tiny_t5):
    checkpoint = Checkpoint(str(tiny_t5), None)
    folder = converted(checkpoint, "float32")
    (folder / "model.bin").write_bytes((folder / "model.bin").read_bytes()[:999])
    with pytest.raises(PropositionizerError, match="damaged, delete it"):
        CTranslate2Engine(checkpoint, device="cpu", compute_type="float32")


def test_the_second_to_finish_takes_what_the_first_made(tiny_t5, monkeypatch):
    convert = ctranslate2_engine._convert
    checkpoint = Checkpoint(str(tiny_t5), None)
    first = []

    def overtaken(*args):
        if not first:
            first.append(None)
            first[0] = converted(checkpoint, "float32").stat().st_ino
        convert(*args)

    monkeypatch.setattr(ctranslate2_engine, "_convert", overtaken)
    assert converted(checkpoint, "float32").stat().st_ino == first[0]


def test_where_the_cache_is(tiny_t5, tmp_path, monkeypatch):
    def where():
        return converted(Checkpoint(str(tiny_t5), None), "float32").parents[1]

    assert where() == tmp_path / "cache"
    monkeypatch.delenv("FACTOID_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert where() == tmp_path / "xdg" / "factoid"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(ctranslate2_engine.Path, "home", lambda: tmp_path / "home")
    assert where() == tmp_path / "home" / ".cache" / "factoid"
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FACTOID_CACHE", str(tmp_path / "file"))
    with pytest.raises(PropositionizerError, match="FACTOID_CACHE"):
        where()


def test_a_device_that_is_not_there(tiny_t5):
    import ctranslate2

    if ctranslate2.get_cuda_device_count():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(PropositionizerError, match="float16 on cuda"):
        CTranslate2Engine(Checkpoint(str(tiny_t5), None), device="cuda", compute_type="float16")
