from __future__ import annotations

import pytest

from factoid.errors import InvalidInputError
from factoid.evaluate.nli import NliModel
from tests.late_interaction.tiny_colbert import WORDS

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

LIMIT = 24
PAIRS = [
    ("anna was born in oslo", "anna moved to paris"),
    ("the tower of pisa leans", "the tower leans in the city " * 3),
    ("the ship sank on its first voyage in stockholm harbour " * 5, "the ship sank"),
    ("rome is the capital", "berlin is old"),
]


def write_classifier(folder, labels):
    """A classifier with random weights whose logits differ from pair to pair."""
    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=LIMIT).save_pretrained(
        folder
    )
    torch.manual_seed(3)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        max_position_embeddings=LIMIT,
        initializer_range=1.0,
        id2label=labels,
        **sizes,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def entailed(folder, premise, hypothesis, label):
    """One pair by itself, without factoid: [CLS] premise [SEP] hypothesis [SEP], the longer side
    cut at its end.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    sides = [tokenizer.tokenize(text) for text in (premise, hypothesis)]
    while sum(map(len, sides)) > LIMIT - 3:
        max(sides, key=len).pop()
    tokens = ["[CLS]", *sides[0], "[SEP]", *sides[1], "[SEP]"]
    kinds = [0] * (len(sides[0]) + 2) + [1] * (len(sides[1]) + 1)
    ids = tokenizer.convert_tokens_to_ids(tokens)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([kinds])).logits[
            0
        ]
    return int(logits.argmax()) == label


@pytest.mark.parametrize("label", [0, 2])
def test_a_classifier_against_one_pair_at_a_time(tmp_path, label):
    names = ["neutral", "contradiction"]
    names.insert(label, "Entailment")
    folder = write_classifier(tmp_path / "model", dict(enumerate(names)))
    model = NliModel(folder, device="cpu", batch_size=3)
    premises, hypotheses = zip(*PAIRS, strict=True)
    expected = [entailed(folder, *pair, label) for pair in PAIRS]
    assert model.entails(premises, hypotheses) == expected
    assert model.entails([], []) == []


def test_what_is_no_model_of_entailment(tmp_path):
    folder = write_classifier(tmp_path / "model", {0: "positive", 1: "negative"})
    with pytest.raises(
        InvalidInputError, match="labels positive, negative: expected one that begins with 'entail'"
    ):
        NliModel(folder, device="cpu").entails(["a"], ["b"])
    with pytest.raises(InvalidInputError, match="cannot load the NLI model"):
        NliModel(tmp_path).entails(["a"], ["b"])


def test_a_model_that_writes(tmp_path):
    """A tiny T5 that has learned by heart what it writes for four pairs in the prompt of TRUE; "10"
    is not "1".
    """
    from tests.tiny_t5 import write_untrained

    premises = ["anna moved", "anna moved", "rome fell", "rome fell"]
    hypotheses = ["anna left", "rome fell", "anna left", "it fell"]
    written = ["1", "0", "10", "1"]
    prompts = [
        f"premise: {pair[0]} hypothesis: {pair[1]}"
        for pair in zip(premises, hypotheses, strict=True)
    ]
    folder = write_untrained(
        tmp_path / "t5", [*prompts, *written], limit=8
    )  # which T5 does not heed, nor does ALCE
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(prompts, padding=True, return_tensors="pt", verbose=False)
    labels = tokenizer(written, padding=True, return_tensors="pt").input_ids
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(80):
        loss = model(**batch, labels=labels.masked_fill(labels == 0, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    judge = NliModel(folder, device="cpu", batch_size=3)
    assert judge.entails(premises, hypotheses) == [True, False, False, True]
