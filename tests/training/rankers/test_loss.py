"""The loss equals loops over single products in float64, and batches know the sentences of their
tokens.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from factoid.training.rankers.examples import TrainingExample

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from sentence_transformers import MultiVectorEncoder  # noqa: E402

from factoid.late_interaction.encoder import FINER_PROMPT  # noqa: E402
from factoid.training.rankers.fit import training_rows  # noqa: E402
from factoid.training.rankers.loss import MultiGranularLoss, collator, sentence_divergences  # noqa: E402

INFINITE = float("inf")


def softmax(scores):
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def divergence(teacher, student):
    return sum(
        p * math.log(p / q) for p, q in zip(softmax(teacher), softmax(student), strict=True) if p
    )


def loop(queries, passages, ids, scores, mask):
    """KL(CE' ‖ CB) by loops over tokens, without tensors."""
    result = np.zeros(passages.shape[:2])
    for q, p in np.ndindex(*result.shape):
        teacher, student = [], []
        for number, score in enumerate(scores[q, p], 1):
            tokens = [t for t in range(passages.shape[2]) if ids[q, p, t] == number]
            if not tokens or not math.isfinite(score):
                continue
            teacher.append(score)
            sums = [
                max(float(queries[q, i] @ passages[q, p, t]) for t in tokens)
                for i in range(queries.shape[1])
                if mask[q, i]
            ]
            student.append(sum(sums))
        result[q, p] = divergence(teacher, student) if len(teacher) > 1 else 0
    return result


def random_case(seed, *, shift=0.0):
    rng = np.random.default_rng(seed)
    queries, passages = rng.normal(shift, 1, (2, 4, 5)), rng.normal(0, 1.5, (2, 3, 9, 5))
    ids = rng.integers(0, 4, (2, 3, 9))
    scores = rng.normal(0, 2, (2, 3, 4))
    scores[0, 1, 2:] = -INFINITE  # padding
    scores[1, 2] = -INFINITE  # a passage that no teacher has scored
    ids[1, 0] = np.minimum(ids[1, 0], 1)  # a passage with one sentence
    ids[0, 2][ids[0, 2] == 2] = 0  # a sentence without a token
    mask = np.array([[True, True, True, False], [True] * 4])
    return queries, passages, ids, scores, mask


@pytest.mark.parametrize("seed", range(5))
def test_divergences_equal_loops_over_single_products(seed):
    queries, passages, ids, scores, mask = random_case(seed, shift=-1.0 if seed % 2 else 0.0)
    tensors = [torch.tensor(array) for array in (queries, passages, ids, scores)]
    tensors[0].requires_grad_()
    tensors[1].requires_grad_()
    ours = sentence_divergences(*tensors, query_mask=torch.tensor(mask))
    np.testing.assert_allclose(
        ours.detach().numpy(), loop(queries, passages, ids, scores, mask), rtol=1e-4, atol=1e-5
    )
    assert ours[1, 0] == ours[1, 2] == 0
    ours.sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in tensors[:2])
    assert (tensors[0].grad[0, 3] == 0).all()  # a query token that does not count
    assert (tensors[1].grad[1, 2] == 0).all()
    assert tensors[1].grad[0].abs().max() > 0


TEXTS = (
    "The ship sank. It was raised, years later! Anna is in Oslo.",
    "Paris is the capital. It lies on a river.",
    "Only one sentence",
)


@pytest.fixture
def model(marked):
    loaded = MultiVectorEncoder(str(marked), device="cpu").eval()
    loaded[0].document_length = 64
    return loaded


@pytest.fixture
def rows():
    scores = (tuple(float(place) for place in range(3)), (2.0, -1.0), None)
    first = TrainingExample("Where is Anna?", TEXTS, (3.0, 1.0, 0.0), (), scores)
    second = TrainingExample(
        "Who sank the old ship?",
        TEXTS[::-1],
        (-1.0, 0.0, 2.5),
        (),
        (None, (0.0, 0.0), (1.0, 2.0, 9.0)),
    )
    return training_rows([first, second], 3, FINER_PROMPT)


def features(batch, names):
    return [
        {k.removeprefix(f"{name}_"): v for k, v in batch.items() if k.startswith(f"{name}_")}
        for name in names
    ]


def test_both_terms_equal_an_independent_computation(model, rows):
    batch = collator(model, finer_prompt=FINER_PROMPT, ways=3)([dict(row) for row in rows])
    names = ["query", "finer", "document_1", "document_2", "document_3"]
    with torch.no_grad():
        terms = MultiGranularLoss(model, sentence_weight=0.5)(
            features(batch, names), batch["label"]
        )
    passage, sentence = [], []
    for row in rows:
        coarse = model.encode_query(row["query"]).double().numpy()
        finer = model.encode_query(row["query"], prompt_name=FINER_PROMPT).double().numpy()
        students = []
        for way in range(1, 4):
            text, spans = row[f"document_{way}"], row["sentences"][way - 1]
            [encoded] = model.encode_document(
                [text],
                output_value=None,
                processing_kwargs={"text": {"return_offsets_mapping": True}},
            )
            scored = encoded["attention_mask"].bool().numpy()
            vectors = encoded["token_embeddings"].double().numpy()
            offsets = encoded["offset_mapping"].numpy() - len(model.prompts["document"])
            students.append(sum(max(float(q @ v) for v in vectors[scored]) for q in coarse))
            within = [
                [
                    v
                    for v, (a, b), s in zip(vectors, offsets, scored, strict=True)
                    if s and a < end and b > start and b > 0
                ]
                for start, end, _ in spans
            ]
            of_sentences = [
                sum(max(float(q @ v) for v in tokens) for q in finer) for tokens in within if tokens
            ]
            teacher = [score for (_, _, score), tokens in zip(spans, within, strict=True) if tokens]
            weight = softmax(row["scores"])[way - 1]
            sentence.append(weight * divergence(teacher, of_sentences) if len(teacher) > 1 else 0.0)
        passage.append(divergence(row["scores"], students))
    assert terms["passage"].item() == pytest.approx(sum(passage) / 2, rel=1e-4)
    assert terms["sentence"].item() == pytest.approx(0.5 * sum(sentence) / 2, rel=1e-4)
    assert terms["sentence"] > 0.01


def test_without_a_weight_there_is_the_loss_over_passages_alone(model, rows):
    alone = [{name: value for name, value in row.items() if name != "finer"} for row in rows]
    both = collator(model, finer_prompt=FINER_PROMPT, ways=3)([dict(row) for row in rows])
    batch = collator(model, finer_prompt=None, ways=3)(alone)
    names = ["query", "document_1", "document_2", "document_3"]
    with torch.no_grad():
        terms = MultiGranularLoss(model, sentence_weight=0)(features(batch, names), batch["label"])
        whole = MultiGranularLoss(model)(
            features(both, [names[0], "finer", *names[1:]]), both["label"]
        )
    assert list(terms) == ["passage"]
    assert terms["passage"].item() == pytest.approx(whole["passage"].item(), rel=1e-6)


def test_sentences_beyond_what_the_model_reads_take_no_part(model):
    model[0].document_length = 24
    text = " ".join(["The ship sank."] * 12)
    scores = tuple(float(place % 3) for place in range(12))
    rows = training_rows(
        [TrainingExample("the ship", (text, "No."), (1.0, 0.0), (), (scores, None))],
        2,
        FINER_PROMPT,
    )
    batch = collator(model, finer_prompt=FINER_PROMPT, ways=2)(rows)
    read = batch["document_1_sentence_ids"].max().item()
    assert 1 < read < 12
    with torch.no_grad():
        loss = MultiGranularLoss(model)(
            features(batch, ["query", "finer", "document_1", "document_2"]), batch["label"]
        )
    assert loss["sentence"].isfinite()
    assert loss["sentence"] > 0
