"""The CTranslate2 engine against transformers' greedy search, and the conversion that it rests on."""

from __future__ import annotations

import logging
import multiprocessing
import os
import time

import pytest

from factoid.errors import MissingDependencyError, PropositionizerError
from factoid.propositions.engines import conversion
from factoid.propositions.engines.checkpoint import Checkpoint
from factoid.propositions.engines.conversion import cache_folder, converted
from tests.propositions.tiny_t5 import greedy, random_inputs, random_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("ctranslate2")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FACTOID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ctranslate2"


@pytest.fixture
def conversions(monkeypatch):
    """Counts conversions."""
    seen = []
    convert = conversion._convert
    monkeypatch.setattr(conversion, "_convert", lambda *args: seen.append(args) or convert(*args))
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
    from factoid.propositions.engines.ctranslate2_engine import CTranslate2Engine

    checkpoint = saved(tmp_path / "model", seed, kind)
    model = checkpoint.model(torch.float32)
    inputs = [row for row in random_inputs(seed, model.config.vocab_size) if len(row) > 1]
    engine = CTranslate2Engine(checkpoint, device="cpu", compute_type="float32")
    for limit in (1, 7, 70):
        expected = greedy(model, inputs, limit)
        assert [tuple(written) for written in engine.generate(inputs, limit)] == expected


def test_a_model_is_converted_once(tiny_t5, own_cache, conversions):
    checkpoint = Checkpoint(str(tiny_t5), None)
    folder = converted(checkpoint, "int8_float32")
    assert converted(checkpoint, "int8_float32") == folder
    assert len(conversions) == 1
    assert folder.parent == own_cache
    assert converted(checkpoint, "float32") != folder
    assert len(conversions) == 2
    assert sorted(path.name for path in own_cache.iterdir()) == sorted(
        [folder.name, converted(checkpoint, "float32").name]
    )


def test_a_changed_model_is_converted_anew(tmp_path, conversions):
    first = converted(saved(tmp_path / "model", 1), "float32")
    assert converted(saved(tmp_path / "model", 2), "float32") != first
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    saved(tmp_path / "model", 1)
    assert converted(Checkpoint(str(tmp_path / "model"), None), "float32") == first
    assert len(conversions) == 2


@pytest.mark.parametrize("damage", ["half a file", "no manifest", "an empty folder"])
def test_a_damaged_conversion_is_made_again(tiny_t5, damage, conversions):
    checkpoint = Checkpoint(str(tiny_t5), None)
    folder = converted(checkpoint, "float32")
    whole = (folder / "model.bin").read_bytes()
    if damage == "half a file":
        (folder / "model.bin").write_bytes(whole[: len(whole) // 2])
    else:
        for path in list(folder.iterdir()):
            if damage == "an empty folder" or path.name == "factoid.json":
                path.unlink()
    assert converted(checkpoint, "float32") == folder
    assert (folder / "model.bin").read_bytes() == whole
    assert len(conversions) == 2


def test_a_conversion_that_fails_leaves_nothing(tiny_t5, own_cache, monkeypatch):
    def broken(checkpoint, source, target, quantization):
        target.mkdir()
        (target / "model.bin").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion, "_convert", broken)
    with pytest.raises(KeyboardInterrupt):
        converted(Checkpoint(str(tiny_t5), None), "float32")
    assert list(own_cache.iterdir()) == []


def test_what_a_killed_process_left_is_swept_away_in_time(tiny_t5, own_cache):
    for name, age in (("old", 100_000), ("new", 60)):
        left = own_cache / f".converting-{name}"
        (left / "model").mkdir(parents=True)
        os.utime(left, (time.time() - age,) * 2)
    converted(Checkpoint(str(tiny_t5), None), "float32")
    assert {path.name for path in own_cache.glob(".converting-*")} == {".converting-new"}


def test_the_second_to_finish_takes_what_the_first_made(tiny_t5, monkeypatch):
    convert = conversion._convert
    checkpoint = Checkpoint(str(tiny_t5), None)
    first = []

    def overtaken(*args):
        if not first:
            first.append(None)
            first[0] = converted(checkpoint, "float32").stat().st_ino
        convert(*args)

    monkeypatch.setattr(conversion, "_convert", overtaken)
    assert converted(checkpoint, "float32").stat().st_ino == first[0]


def _in_a_process(folder, started, results):
    started.wait()
    results.put(str(converted(Checkpoint(folder, None), "float32")))


def test_two_processes_may_convert_at_once(tiny_t5, own_cache):
    context = multiprocessing.get_context("spawn")
    started, results = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_in_a_process, args=(str(tiny_t5), started, results)) for _ in range(2)]
    for process in processes:
        process.start()
    found = {results.get(timeout=120) for _ in processes}
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert found == {str(path) for path in own_cache.iterdir()}
    assert len(found) == 1


def test_a_folder_that_cannot_be_written(tiny_t5, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FACTOID_CACHE", str(tmp_path / "file"))
    with pytest.raises(PropositionizerError, match="FACTOID_CACHE"):
        converted(Checkpoint(str(tiny_t5), None), "float32")


def test_where_the_cache_is(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("FACTOID_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "factoid"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "factoid"


def test_an_output_that_loops_is_cut_off_and_the_others_are_not(tiny_t5):
    from factoid.propositions.engines.ctranslate2_engine import CTranslate2Engine
    from factoid.propositions.prompting.prompt import passage_input
    from tests.propositions.tiny_t5 import STUCK, about

    engine = CTranslate2Engine(Checkpoint(str(tiny_t5), None), device="cpu", compute_type="float32")
    texts = [passage_input(STUCK), passage_input(about("Pisa"))]
    stuck, fine = engine.generate(engine.tokenizer(texts)["input_ids"], 512)
    assert stuck.cut_off
    assert 16 <= len(stuck.tokens) <= 64
    assert not fine.cut_off


def test_other_architectures_are_named(tmp_path, tiny_t5):
    from factoid.propositions.engines.ctranslate2_engine import CTranslate2Engine

    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "vocab_size": 60}
    transformers.BartConfig(**sizes, **heads).save_pretrained(tmp_path)
    with pytest.raises(PropositionizerError, match=r"bart.*engine=\"transformers\""):
        CTranslate2Engine(Checkpoint(str(tmp_path), None), device="cpu", compute_type="float32")


def test_a_device_that_is_not_there(tiny_t5):
    import ctranslate2

    from factoid.propositions.engines.ctranslate2_engine import CTranslate2Engine

    if ctranslate2.get_cuda_device_count():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(PropositionizerError, match="float16 on cuda"):
        CTranslate2Engine(Checkpoint(str(tiny_t5), None), device="cuda", compute_type="float16")


def test_the_package_that_is_missing_is_named(tiny_t5, monkeypatch):
    import sys

    from factoid.propositions.engines.ctranslate2_engine import CTranslate2Engine

    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "factoid\[fast\]"'):
        CTranslate2Engine(Checkpoint(str(tiny_t5), None), device="cpu", compute_type="float32")


def test_a_conversion_is_logged(tiny_t5, caplog):
    with caplog.at_level(logging.INFO):
        converted(Checkpoint(str(tiny_t5), None), "float32")
    assert "for CTranslate2 (float32) into" in caplog.text
