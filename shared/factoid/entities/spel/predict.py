"""Prediction of the most probable entities of each token, in single windows and in texts of several windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.entities.spel.vocabulary import OUTSIDE

if TYPE_CHECKING:
    from torch import Tensor

SIZE = 254  # tokens of a window
OVERLAP = 20
STEP = SIZE - OVERLAP

# Logits computed at a time: smaller blocks wait longer for threads on a busy machine, larger ones sort more.
_CELLS = 2**22  # 16 MB
_FEWEST_ROWS, _MOST_ROWS = 1024, 65_536
_GPU_CELLS = 2**25


@dataclass(frozen=True, slots=True)
class Prediction:
    """The most probable entities of one subword, at least one, best first."""

    ids: tuple[int, ...]
    probabilities: tuple[float, ...]  # as a softmax over the whole vocabulary gives them


def top_entities(hidden: Tensor, weight: Tensor, k: int, *, rows: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the first k of softmax(hidden · weightᵀ), computed in blocks of rows: ids and probabilities, best first.

    Shapes: hidden (tokens, dim), weight (entities, dim), results (tokens, k).
    """
    torch = require("torch", extra="spel")
    tokens, entities = len(hidden), len(weight)
    if rows is None:
        rows = max((_GPU_CELLS if hidden.is_cuda else _CELLS) // max(tokens, 1), _FEWEST_ROWS)
        rows = rows if hidden.is_cuda else min(rows, _MOST_ROWS)
    best = hidden.new_empty((tokens, 0))
    ids = torch.empty((tokens, 0), dtype=torch.long, device=hidden.device)
    highest = hidden.new_full((tokens, 1), float("-inf"))
    total = torch.zeros((tokens, 1), dtype=torch.float64, device=hidden.device)  # of exp(logit - highest)
    for start in range(0, entities, rows):
        logits = hidden @ weight[start : start + rows].T
        best, ids = _merge(best, ids, logits, start, min(k, entities), torch)
        above = best[:, :1]
        total = total * (highest - above).double().exp() + logits.sub_(above).exp_().sum(1, keepdim=True)
        highest = above
    probabilities = ((best - highest).double().exp() / total).to(hidden.dtype)
    return ids, probabilities


def _merge(best: Tensor, ids: Tensor, logits: Tensor, start: int, k: int, torch: Any) -> tuple[Tensor, Tensor]:
    """Return the best k of those seen so far and a block, with their ids."""
    if best.shape[1] < k:
        columns = torch.arange(logits.shape[1], device=logits.device)
    else:  # few entities of a later block beat any token's best: the others need no sorting
        columns = (logits > best[:, -1:]).any(0).nonzero().squeeze(1)
        if not len(columns):
            return best, ids
        logits = logits[:, columns]
    offered = torch.cat([best, logits], 1)
    named = torch.cat([ids, (columns + start).expand(len(ids), -1)], 1)
    values, at = offered.topk(min(k, offered.shape[1]), dim=1)
    return values, named.gather(1, at)


class Predictor:
    """A loaded `RobertaModel` and, on the same device, its output embedding of shape (entities, dim)."""

    def __init__(self, encoder: Any, out: Tensor, *, k: int, batch_size: int) -> None:
        self._encoder, self._out, self._k, self._batch_size = encoder, out, k, batch_size

    def predict(self, sequences: Sequence[Sequence[int]]) -> list[list[Prediction]]:
        """Return a prediction for each token of each sequence of token ids, special tokens included."""
        torch = require("torch", extra="spel")
        predictions: list[list[Prediction]] = [[] for _ in sequences]
        order = sorted(range(len(sequences)), key=lambda at: len(sequences[at]))  # similar lengths need little padding
        with torch.inference_mode():
            for start in range(0, len(order), self._batch_size):
                members = order[start : start + self._batch_size]
                batch = iter(self._batch([sequences[at] for at in members], torch))
                for at in members:
                    predictions[at] = [next(batch) for _ in sequences[at]]
        return predictions

    def _batch(self, sequences: Sequence[Sequence[int]], torch: Any) -> list[Prediction]:
        """Return the predictions of some sequences, one after the other."""
        device = self._out.device
        tensors = [torch.tensor(list(sequence)) for sequence in sequences]
        padding = self._encoder.config.pad_token_id
        tokens = torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=padding)
        lengths = torch.tensor([len(sequence) for sequence in sequences])
        mask = torch.arange(tokens.shape[1]) < lengths.unsqueeze(1)
        mask, tokens = mask.to(device), tokens.to(device)
        # One sequence needs no mask, and a "<pad>" in the text is an ordinary token.
        hidden = self._encoder(tokens, attention_mask=mask.long() if len(sequences) > 1 else None).last_hidden_state
        ids, probabilities = top_entities(hidden[mask], self._out, self._k)
        rows = zip(ids.tolist(), probabilities.tolist(), strict=True)
        return [Prediction(tuple(entities), tuple(values)) for entities, values in rows]


def windows(count: int) -> Iterator[range]:
    """Yield the windows over `count` tokens, <s> and </s> included; the last may lie within the one before it."""
    return (range(start, min(start + SIZE, count)) for start in range(0, count, STEP))


def merge_windows(predictions: Sequence[Sequence[Prediction]]) -> list[Prediction]:
    """Return one prediction per token: where two windows differ, the one that agrees with a neighbour, else the more probable."""
    options: list[tuple[Prediction, ...]] = []
    for at, window in enumerate(predictions):
        overlap = len(options) - at * STEP  # tokens that the previous window has predicted
        for token, new in enumerate(window[:overlap], start=at * STEP):
            (previous,) = options[token]
            if previous.ids[0] == OUTSIDE:
                options[token] = (new,)
            elif new.ids[0] not in (OUTSIDE, previous.ids[0]):
                options[token] = (new, previous)
        options += [(new,) for new in window[overlap:]]
    chosen: list[Prediction] = []
    for at, offered in enumerate(options):
        near = {prediction.ids[0] for prediction in (*chosen[-1:], *next(iter(options[at + 1 : at + 2]), ()))}
        agreeing = [prediction for prediction in offered if prediction.ids[0] in near]
        chosen.append(agreeing[0] if agreeing else max(offered, key=lambda prediction: prediction.probabilities[0]))
    return chosen
