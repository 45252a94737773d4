"""The six retrievers of Dense X against transformers by hand, on tiny models of each
architecture.
"""

from __future__ import annotations

import string

import numpy as np
import pytest

from factoid import Document, SentenceTransformerEncoder, UnitStore
from factoid.cli.options import make_encoder
from factoid.dual_encoders import RETRIEVERS, DualEncoder, make_retriever, named_retriever
from factoid.encode import Encoder
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.testing import ScriptedPropositionizer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")

TEXTS = [
    "The tower leans at four degrees.",
    "It leans.",
    "Oslo",
    "The tower in the town of Pisa leans, and people know it.",
]
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 66,
}


def write_word_pieces(folder):
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [*string.ascii_lowercase, *string.punctuation]
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *pieces,
        *(f"##{piece}" for piece in pieces[:26]),
        "tower",
        "leans",
    ]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    return len(words)


def write_bert(folder, *, seed=0, **config):
    size = write_word_pieces(folder)
    torch.manual_seed(seed)
    config = transformers.BertConfig(vocab_size=size, initializer_range=0.5, **SIZES, **config)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def write_dpr(folder, kind, *, seed, projection=0):
    size = write_word_pieces(folder)
    torch.manual_seed(seed)
    config = transformers.DPRConfig(
        vocab_size=size, projection_dim=projection, initializer_range=0.5, **SIZES
    )
    getattr(transformers, kind)(config).save_pretrained(folder)
    return folder


def write_ance(folder, *, seed, prefix="", heads=True, safe=True):
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    alphabet = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(byte_alphabet())]
    tokenizer = transformers.RobertaTokenizer(
        vocab={token: number for number, token in enumerate(alphabet)},
        merges=[],
        model_max_length=512,
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = transformers.RobertaConfig(vocab_size=len(alphabet), initializer_range=0.5, **SIZES)
    roberta = transformers.RobertaModel(config, add_pooling_layer=False)
    weights = {f"roberta.{name}": value.clone() for name, value in roberta.state_dict().items()}
    if heads:
        weights[f"{prefix}embeddingHead.weight"] = torch.randn(8, config.hidden_size)
        weights[f"{prefix}embeddingHead.bias"] = torch.randn(8)
        weights[f"{prefix}norm.weight"] = torch.randn(8)
        weights[f"{prefix}norm.bias"] = torch.randn(8)
    config.save_pretrained(folder)
    if safe:
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    else:
        torch.save(weights, folder / "pytorch_model.bin")
    return folder, weights


def byte_alphabet():
    from tokenizers import pre_tokenizers

    return pre_tokenizers.ByteLevel.alphabet()


def hidden(model, tokenizer, text, limit=64):
    """Return the last layer of one text, without padding. Shape: (tokens, dim)."""
    ids = tokenizer(text, truncation=True, max_length=limit, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        return model(input_ids=ids).last_hidden_state[0]


@pytest.mark.parametrize(
    ("name", "pool"), [("simcse", lambda rows: rows[0]), ("contriever", lambda rows: rows.mean(0))]
)
def test_one_encoder_pools_as_it_was_trained(name, pool, tmp_path):
    folder = write_bert(tmp_path / "model")
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    expected = np.stack([pool(hidden(model, tokenizer, text)).numpy() for text in TEXTS])
    encoder = make_retriever(name, folder, device="cpu", batch_size=3)
    assert isinstance(encoder, Encoder)
    np.testing.assert_allclose(encoder.encode_units(TEXTS), expected, atol=1e-5)
    np.testing.assert_allclose(encoder.encode_queries(TEXTS), expected, atol=1e-5)
    assert not np.allclose(
        np.linalg.norm(expected, axis=1), 1, atol=0.1
    )  # so products are no cosines


def test_tas_b_is_the_first_token_of_distilbert(tmp_path):
    size = write_word_pieces(tmp_path)
    torch.manual_seed(3)
    config = transformers.DistilBertConfig(
        vocab_size=size,
        dim=16,
        n_layers=1,
        n_heads=2,
        hidden_dim=32,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    model = transformers.DistilBertModel(config).eval()
    model.save_pretrained(tmp_path)
    tokenizer = transformers.BertTokenizer.from_pretrained(tmp_path)
    expected = np.stack([hidden(model, tokenizer, text)[0].numpy() for text in TEXTS])
    np.testing.assert_allclose(
        make_retriever("tas-b", tmp_path, device="cpu").encode_units(TEXTS), expected, atol=1e-5
    )


@pytest.mark.parametrize("projection", [0, 6])
def test_dpr_reads_questions_and_texts_with_a_model_each(projection, tmp_path):
    questions = write_dpr(tmp_path / "q", "DPRQuestionEncoder", seed=1, projection=projection)
    texts = write_dpr(tmp_path / "t", "DPRContextEncoder", seed=2, projection=projection)
    encoder = make_retriever("dpr", questions, texts, device="cpu", batch_size=3)
    tokenizer = transformers.BertTokenizer.from_pretrained(questions)
    sides = [
        (encoder.encode_queries, transformers.DPRQuestionEncoder.from_pretrained(questions)),
        (encoder.encode_units, transformers.DPRContextEncoder.from_pretrained(texts)),
    ]
    for encode, model in sides:
        rows = []
        for text in TEXTS:
            ids = tokenizer(text, return_tensors="pt")["input_ids"]
            with torch.no_grad():
                rows.append(model.eval()(input_ids=ids).pooler_output[0].numpy())
        vectors = encode(TEXTS)
        np.testing.assert_allclose(vectors, np.stack(rows), atol=1e-5)
        assert (vectors.dtype, vectors.shape) == (np.float32, (4, projection or 16))
    assert not np.allclose(encoder.encode_queries(TEXTS), encoder.encode_units(TEXTS), atol=0.1)
    assert encoder.encode_units([]).shape == (0, projection or 16)


def test_the_title_is_read_as_the_first_of_a_pair(tmp_path):
    questions = write_dpr(tmp_path / "q", "DPRQuestionEncoder", seed=1)
    texts = write_dpr(tmp_path / "t", "DPRContextEncoder", seed=2)
    model = transformers.DPRContextEncoder.from_pretrained(texts).eval()
    ids = transformers.BertTokenizer.from_pretrained(texts)(
        "Pisa", "It leans.", return_tensors="pt"
    )["input_ids"]
    with torch.no_grad():
        [expected] = model(input_ids=ids).pooler_output.numpy()
    encoder = make_retriever("dpr", questions, texts, device="cpu")
    with UnitStore(
        encoder=encoder, embed_template=RETRIEVERS["dpr"].template, granularities=["sentence"]
    ) as store:
        store.add_documents([Document("It leans.", title="Pisa")])
        [hit] = store.search("What leans?", k=1, granularity="sentence")
    [query] = encoder.encode_queries(["What leans?"])
    assert hit.parts["sentence"] == pytest.approx(float(query @ expected), rel=1e-4)


@pytest.mark.parametrize(("prefix", "safe"), [("", True), ("ance_encoder.", False)])
def test_ance_is_a_layer_over_the_first_token(prefix, safe, tmp_path):
    folder, weights = write_ance(tmp_path / "t", seed=5, prefix=prefix, safe=safe)
    questions, _ = write_ance(tmp_path / "q", seed=6)
    model = transformers.RobertaModel.from_pretrained(folder, add_pooling_layer=False).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = []
    for text in TEXTS:
        first = hidden(model, tokenizer, text)[0]
        row = (
            weights[f"{prefix}embeddingHead.weight"] @ first
            + weights[f"{prefix}embeddingHead.bias"]
        )
        row = (row - row.mean()) / torch.sqrt(row.var(unbiased=False) + 1e-5)
        rows.append((row * weights[f"{prefix}norm.weight"] + weights[f"{prefix}norm.bias"]).numpy())
    encoder = make_retriever("ance", questions, folder, device="cpu", batch_size=2)
    np.testing.assert_allclose(encoder.encode_units(TEXTS), np.stack(rows), atol=1e-4)
    alone = make_retriever(
        "ance", folder, device="cpu"
    )  # one model for both sides, as for MS MARCO
    np.testing.assert_allclose(alone.encode_queries(TEXTS), np.stack(rows), atol=1e-4)
    assert encoder.encode_units(["tower " * 200]).shape == (1, 8)  # cut at the model's positions


def test_gtr_is_a_mean_a_layer_and_unit_length(tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import (
        Dense,
        Normalize,
        Pooling,
        Transformer,
    )

    from tests.tiny_t5 import write_untrained

    write_untrained(tmp_path / "t5", TEXTS, limit=64)
    config = transformers.T5Config.from_pretrained(tmp_path / "t5")
    torch.manual_seed(4)
    t5 = transformers.T5EncoderModel(config).eval()
    t5.save_pretrained(tmp_path / "t5")
    layer = Dense(32, 8, bias=False, activation_function=torch.nn.Identity())
    modules = [Transformer(str(tmp_path / "t5")), Pooling(32, "mean"), layer, Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(tmp_path / "gtr"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "t5")
    rows = []
    for text in TEXTS:
        row = layer.linear.weight.detach() @ hidden(t5, tokenizer, text).mean(0)
        rows.append((row / row.norm()).numpy())
    encoder = make_retriever("gtr", tmp_path / "gtr", device="cpu")
    np.testing.assert_allclose(encoder.encode_units(TEXTS), np.stack(rows), atol=1e-5)
    with pytest.raises(
        InvalidInputError,
        match=r"no modules.json: gtr needs the folder as Sentence Transformers writes it",
    ):
        make_retriever("gtr", tmp_path / "t5")


def test_a_folder_that_does_not_say_how_it_pools_is_refused(tmp_path):
    folder = write_bert(tmp_path / "mine")
    with pytest.raises(
        InvalidInputError,
        match=r"mine' does not say how .*: SentenceTransformerEncoder\(model, pooling=",
    ):
        SentenceTransformerEncoder(folder, device="cpu").encode_units(["x"])
    means = SentenceTransformerEncoder(folder, device="cpu", pooling="mean")
    firsts = make_retriever("simcse", folder, device="cpu")
    assert not np.allclose(means.encode_units(TEXTS), firsts.encode_units(TEXTS), atol=0.1)
    assert means.name.endswith(" mean")
    assert firsts.name.endswith(" cls")
    with UnitStore(tmp_path / "store", encoder=means) as store:
        store.add_documents([Document("It leans.")], propositionizer=ScriptedPropositionizer({}))
    with pytest.raises(EncoderMismatchError):
        UnitStore(tmp_path / "store", encoder=firsts)


@pytest.mark.parametrize(
    ("name", "architecture", "like"),
    [("unsup-simcse-bert", "BertModel", "simcse"), ("a", "Contriever", "contriever")],
)
def test_known_families_are_pooled_as_they_were_trained(name, architecture, like, tmp_path):
    folder = write_bert(tmp_path / name)
    config = transformers.BertConfig.from_pretrained(folder)
    config.architectures = [architecture]
    config.save_pretrained(folder)
    same = make_retriever(like, folder, device="cpu").encode_units(TEXTS)
    np.testing.assert_array_equal(
        SentenceTransformerEncoder(folder, device="cpu").encode_units(TEXTS), same
    )


def test_what_is_wrong_with_a_model_is_one_clear_error(tmp_path):
    questions = write_dpr(tmp_path / "q", "DPRQuestionEncoder", seed=1)
    texts = write_dpr(tmp_path / "t", "DPRContextEncoder", seed=2)
    bert = write_bert(tmp_path / "bert")
    bare, _ = write_ance(tmp_path / "bare", seed=1, heads=False)
    cases = [
        (
            SentenceTransformerEncoder(questions, device="cpu"),
            r'q\' is one half of DPR.*make_retriever\("dpr", QUESTIONS, TEXTS\)',
        ),
        (
            make_retriever("dpr", texts, questions),
            "t' is a DPRContextEncoder, and queries are read by a DPRQuestionEncoder",
        ),
        (DualEncoder(bert), "bert' is a bert model: a dual encoder reads DPR and ANCE"),
        (DualEncoder(bare), "without ANCE's layers embeddingHead and norm"),
        (DualEncoder(tmp_path / "nowhere"), "cannot load the encoder .*nowhere"),
    ]
    for encoder, message in cases:
        with pytest.raises(InvalidInputError, match=message):
            encoder.encode_queries(["x"])
    for arguments, message in (
        (
            ("bge",),
            "there is no retriever 'bge': choose one of simcse, contriever, dpr, ance, tas-b, gtr",
        ),
        (("dpr", questions), "dpr reads questions and texts with two models: give both folders"),
        (("simcse", bert, bert), "simcse has one model for questions and texts: give one folder"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            make_retriever(*arguments)
    with pytest.raises(InvalidInputError, match="pooling must be one of cls, mean, lasttoken"):
        SentenceTransformerEncoder(bert, pooling="max")
    with pytest.raises(InvalidInputError, match="pooling is for a model by name or folder"):
        SentenceTransformerEncoder(pooling="cls")
    weights = transformers.DPRContextEncoder.from_pretrained(texts).state_dict()
    weights.pop("ctx_encoder.bert_model.encoder.layer.1.output.dense.bias")
    (tmp_path / "t" / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "t" / "pytorch_model.bin")
    with pytest.raises(InvalidInputError, match="lacks weights of DPRContextEncoder: "):
        make_retriever("dpr", questions, texts).encode_units(["x"])


def test_retrievers_are_named_on_the_command_line(tmp_path):
    questions = write_dpr(tmp_path / "q", "DPRQuestionEncoder", seed=1)
    texts = write_dpr(tmp_path / "t", "DPRContextEncoder", seed=2)
    encoder = make_encoder(f"dpr:{questions},{texts}")
    assert encoder.encode_queries(["x"]).shape == (1, 16)
    assert encoder.name.count("weights ") == 2
    assert make_encoder("simcse").name == "princeton-nlp/unsup-simcse-bert-base-uncased"
    assert make_encoder("dpr").name == " + ".join(
        (RETRIEVERS["dpr"].queries, RETRIEVERS["dpr"].units)
    )
    assert make_encoder("some/model").name == "some/model"
    assert named_retriever("some/model") is None
    with pytest.raises(InvalidInputError, match="expected dpr:QUESTIONS,TEXTS"):
        named_retriever("dpr:a,b,c")
    assert list(RETRIEVERS) == ["simcse", "contriever", "dpr", "ance", "tas-b", "gtr"]
