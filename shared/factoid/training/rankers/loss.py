"""The loss over passages and over the sentences of each, with its batches (AGRaME, §3.3).

Import it late: it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from sentence_transformers.multi_vector_encoder.data_collator import MultiVectorEncoderDataCollator
from sentence_transformers.multi_vector_encoder.losses import MultiVectorDistillKLDivLoss
from sentence_transformers.multi_vector_encoder.scoring import colbert_kd_scores
from torch import Tensor
from torch.nn import functional

# score of a sentence that is left out: its probability is exactly 0, and its logarithm finite
_ABSENT = -1e4


class MultiGranularLoss(MultiVectorDistillKLDivLoss):
    """Two distillations.

    Of passages under the marker m_q, and of each passage's sentences under m'_q. ``KL(CE ‖ CB) over
    the passages + weight · Σ softmax(S_CE) · KL(CE' ‖ CB) over a passage's sentences``, the mean
    over the queries. The passages are encoded once for both. The first term is Sentence
    Transformers' own, without a temperature. The weight is 1 in the paper; with 0 there are no
    query vectors under m'_q.
    """

    def __init__(self, model: Any, *, sentence_weight: float = 1.0) -> None:
        super().__init__(model, similarity_fct=self._passage_scores)
        self.sentence_weight = sentence_weight
        self._encoded: tuple[Tensor, Tensor] | None = None

    def forward(  # type: ignore[override]
        self, sentence_features: Iterable[dict[str, Any]], labels: Tensor
    ) -> dict[str, Tensor]:
        """Return both terms, to be added up.

        Features are those of the query under m_q and, unless the weight is 0, under m'_q, then of
        the passages, as `SentenceCollator` makes them; labels are the teacher's scores of the
        passages. Shape: (queries, passages).
        """
        query, *columns = map(dict, sentence_features)
        finer = columns.pop(0) if self.sentence_weight else None
        ids = [features.pop("sentence_ids", None) for features in columns]
        scores = [features.pop("sentence_scores", None) for features in columns]
        terms: dict[str, Tensor] = {"passage": super().forward([query, *columns], labels)}
        encoded = self._encoded
        self._encoded = None
        if finer is not None and encoded is not None:
            passages, mask = encoded
            queries = self.model(finer, task="query")
            divergences = sentence_divergences(
                queries["token_embeddings"],
                passages,
                _stacked(ids, passages.shape[2], 0) * mask,
                _stacked(scores, max(part.shape[1] for part in scores), float("-inf")),
                query_mask=queries["attention_mask"].bool(),
            )
            terms["sentence"] = (
                self.sentence_weight * (labels.softmax(-1) * divergences).sum(-1).mean()
            )
        return terms

    def _passage_scores(
        self, queries: Tensor, passages: Tensor, *, queries_mask: Tensor, documents_mask: Tensor
    ) -> Tensor:
        """Score the passages, and keep their vectors for the sentences.

        `MultiVectorDistillKLDivLoss` scores them so by default.
        """
        self._encoded = passages, documents_mask
        return colbert_kd_scores(
            queries, passages, queries_mask=queries_mask, documents_mask=documents_mask
        )


def sentence_divergences(
    queries: Tensor, passages: Tensor, sentence_ids: Tensor, scores: Tensor, *, query_mask: Tensor
) -> Tensor:
    """Return KL(CE' ‖ CB) over the sentences of each passage. Shape: (queries, passages).

    A sentence takes part if the teacher has scored it and at least one of its tokens is scored. The
    divergence of a passage with fewer than two such sentences is 0.

    Args:
        queries: Query vectors under m'_q. Shape: (queries, query tokens, dim).
        passages: Token vectors of the whole passages. Shape: (queries, passages, tokens, dim).
        sentence_ids: The number of each token's sentence from 1 on, 0 for tokens in none. Shape:
            (queries, passages, tokens).
        scores: S_CE', minus infinity for none. Shape: (queries, passages, sentences).
        query_mask: Query tokens that count. Shape: (queries, query tokens).
    """
    products = torch.einsum("bqd,bptd->bpqt", queries.float(), passages.float())
    places = sentence_ids[:, :, None, :].expand(products.shape)
    best = products.new_full((*products.shape[:-1], scores.shape[-1] + 1), float("-inf"))
    # of each query token in each sentence
    best = best.scatter_reduce(-1, places, products, "amax")[..., 1:]
    present = best[:, :, 0].isfinite() & scores.isfinite()
    counts = query_mask[:, None, :, None] & present[:, :, None, :]
    student = best.where(counts, 0.0).sum(2).where(present, _ABSENT)
    teacher = scores.float().where(present, _ABSENT)
    student = student.log_softmax(-1)
    teacher = teacher.log_softmax(-1)
    return functional.kl_div(student, teacher, reduction="none", log_target=True).sum(-1)


@dataclass
class SentenceCollator(MultiVectorEncoderDataCollator):
    """Make batches with the sentence number of each token of a passage.

    Rows have the columns "query", optionally "finer" (the query again, for m'_q), "document_1" and
    so on, "scores", and "sentences": for each passage a list of the sentences' [start, end,
    teacher's score]. The batch has, for each passage, `sentence_ids` (queries, tokens), from 1 on
    in the order of the sentences and 0 for none, and `sentence_scores` (queries, sentences), minus
    infinity where there is none.
    """

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        """Make one batch."""
        rows = list(map(dict, features))
        sentences = [row.pop("sentences") for row in rows]
        batch: dict[str, Any] = super().__call__(rows)
        prompts: Any = self.prompts
        columns = [name for name in rows[0] if name.startswith("document_")]
        for place, name in enumerate(columns):
            offsets = batch.pop(f"{name}_offset_mapping") - len(prompts[name])
            spans = [row[place] for row in sentences]
            batch[f"{name}_sentence_ids"] = torch.stack(list(map(_sentence_ids, offsets, spans)))
            scores = []
            for row in spans:
                scores.append(torch.tensor([score for _, _, score in row] or [float("-inf")]))
            batch[f"{name}_sentence_scores"] = torch.nn.utils.rnn.pad_sequence(
                scores, batch_first=True, padding_value=float("-inf")
            )
        return batch


def collator(model: Any, *, finer_prompt: str | None, ways: int) -> SentenceCollator:
    """Return the collator of a model's batches.

    `ways` passages, and a column "finer" for the query of the loss over sentences: under the prompt
    with the marker m'_q, or again under that of queries.
    """
    prompts = {"query": model.prompts.get("query") or ""}
    if finer_prompt:
        prompts["finer"] = model.prompts.get(finer_prompt) or ""
    for way in range(1, ways + 1):
        prompts[f"document_{way}"] = model.prompts.get("document") or ""
    return SentenceCollator(
        _with_offsets(model.preprocess), prompts=prompts, router_mapping={"finer": "query"}
    )


def _with_offsets(preprocess: Callable[..., Mapping[str, Any]]) -> Callable[..., Mapping[str, Any]]:
    """Make the tokenizer return the offsets of the tokens of passages."""

    def run(inputs: Any, *, task: str | None = None, **options: Any) -> Mapping[str, Any]:
        if task == "document":
            options["processing_kwargs"] = {"text": {"return_offsets_mapping": True}}
        return preprocess(inputs, task=task, **options)

    return run


def _sentence_ids(offsets: Tensor, sentences: list[list[float]]) -> Tensor:
    """Return the sentence with which each token shares a character.

    It is its number from 1, or 0 for none.
    """
    ids = torch.zeros(len(offsets), dtype=torch.long)
    # of two sentences, the first has the token
    for number, (start, end, _) in reversed(list(enumerate(sentences, 1))):
        ids[(offsets[:, 0] < end) & (offsets[:, 1] > start) & (offsets[:, 1] > 0)] = number
    return ids


def _stacked(parts: list[Tensor], width: int, padding: float) -> Tensor:
    """Stack (queries, n) tensors of different n. Shape: (queries, passages, width)."""
    return torch.stack(
        [functional.pad(part, (0, width - part.shape[1]), value=padding) for part in parts], 1
    )
