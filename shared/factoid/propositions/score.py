"""How close two sets of propositions are: the F1 of Dense X Retrieval, Appendix B.

Precision is the mean over the predicted propositions of the best similarity to any reference, recall the mean over the
references of the best similarity to any predicted one, F1 their harmonic mean. What similarity means is pluggable: the
paper takes BERTScore with roberta-large; figures from different similarities cannot be compared with each other.

The paper leaves open, and here is settled:

* The figure of a corpus is the mean of its passages' figures (for F1: the mean of the passages' F1).
* Sets: a proposition that is given twice counts once; an empty string counts as a proposition.
* No predictions for no references is right (1); no predictions for some references, or some for none, is 0.
* A similarity below 0, as cosines can be, counts as 0.
"""

from __future__ import annotations

import os
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.devices import usable_device
from factoid.errors import InvalidInputError
from factoid.products import products

Matrix = NDArray[np.float64]
Embedded = NDArray[np.float32]  # unit vectors of a text's tokens. Shape: (tokens, dim)

_TOGETHER = 256  # passages whose texts are prepared at once: full batches for a model, bounded memory
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


class Similarity(Protocol):
    """How alike texts are, each of some with each of others. 1 is the same, 0 is nothing in common."""

    def __call__(self, a: Sequence[str], b: Sequence[str], /) -> Matrix:
        """Return the similarities. Shape: (len(a), len(b))."""
        ...


@runtime_checkable
class PreparableSimilarity(Protocol):
    """A similarity with a model, which is faster on many texts at once than on a few at a time."""

    def prepare(self, texts: Sequence[str], /) -> Similarity:
        """Return the similarity between any of these texts; the model does its work now."""
        ...


class UnitEncoder(Protocol):
    """The side of an encoder that is needed here; every `factoid.Encoder` has it."""

    def encode_units(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors. Shape: (len(texts), dim)."""
        ...


@dataclass(frozen=True, slots=True)
class PropositionF1:
    """How well predicted propositions agree with reference ones, each figure from 0 to 1."""

    precision: float
    recall: float
    f1: float


def proposition_f1(predicted: Sequence[str], references: Sequence[str], similarity: Similarity) -> PropositionF1:
    """Compare the propositions of one passage with reference ones (Dense X Retrieval, Appendix B).

    Raises:
        InvalidInputError: A string is given where a list of strings is expected.
    """
    ours, theirs = _distinct(predicted), _distinct(references)
    if not ours or not theirs:
        same = float(not ours and not theirs)
        return PropositionF1(same, same, same)
    best = np.maximum(similarity(ours, theirs), 0.0)
    precision, recall = float(best.max(axis=1).mean()), float(best.max(axis=0).mean())
    total = precision + recall
    return PropositionF1(precision, recall, 2 * precision * recall / total if total else 0.0)


def corpus_f1(
    predicted: Sequence[Sequence[str]], references: Sequence[Sequence[str]], similarity: Similarity
) -> PropositionF1:
    """Return the means over passages of `proposition_f1`.

    Args:
        predicted: The propositions of each passage.
        references: As many lists, in the same order.
        similarity: A model behind it gets the texts of many passages at once.

    Raises:
        InvalidInputError: There are no passages, or not as many predicted lists as reference lists.
    """
    if len(predicted) != len(references):
        counts = f"{len(predicted)} lists and {len(references)}"
        message = f"expected predicted and reference propositions of the same passages, got {counts}"
        raise InvalidInputError(message)
    scores = []
    for start in range(0, len(predicted), _TOGETHER):
        ours, theirs = predicted[start : start + _TOGETHER], references[start : start + _TOGETHER]
        prepared = similarity
        if isinstance(similarity, PreparableSimilarity):
            prepared = similarity.prepare([text for texts in (*ours, *theirs) for text in texts])
        scores += [proposition_f1(*pair, prepared) for pair in zip(ours, theirs, strict=True)]
    return mean_f1(scores)


def mean_f1(scores: Sequence[PropositionF1]) -> PropositionF1:
    """Return the means of precision, recall and F1.

    Raises:
        InvalidInputError: There are none.
    """
    if not scores:
        message = "expected the propositions of one passage at least, got none"
        raise InvalidInputError(message)
    columns = zip(*((score.precision, score.recall, score.f1) for score in scores), strict=True)
    return PropositionF1(*(sum(column) / len(scores) for column in columns))


class EncoderSimilarity:
    """The cosine of two texts' vectors.

    Args:
        encoder: Any encoder; its unit side is used for both texts. A zero vector has similarity 0 to all.
    """

    def __init__(self, encoder: UnitEncoder) -> None:
        self._encoder = encoder

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the cosines. Shape: (len(a), len(b))."""
        return self.prepare([*a, *b])(a, b)

    def prepare(self, texts: Sequence[str]) -> Similarity:
        """Encode texts, once each, and return the cosine between any of them."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return lambda a, b: np.zeros((len(a), len(b)))
        vectors = np.asarray(self._encoder.encode_units(distinct), np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(norms > 0, norms, 1)
        rows = {text: row for row, text in enumerate(distinct)}

        def cosines(a: Sequence[str], b: Sequence[str]) -> Matrix:
            rows_of_a, rows_of_b = (vectors[[rows[text] for text in side]] for side in (a, b))
            return np.asarray(products(rows_of_a, rows_of_b.T))

        return cosines


class TokenF1:
    """The F1 of two texts' bags of tokens, as SQuAD scores answers: exact, and in need of no model.

    Texts are lower-cased; ASCII punctuation is deleted (so that "O'Hare" is one token), then the words a, an and the;
    what white space separates are the tokens. Overlap counts repetitions. Of two texts of which one has no tokens, the
    score is 1 if neither has any.
    """

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the F1 scores. Shape: (len(a), len(b))."""
        bags_of_a, bags_of_b = ([_tokens(text) for text in side] for side in (a, b))
        return np.array([[_overlap(bag_a, bag_b) for bag_b in bags_of_b] for bag_a in bags_of_a]).reshape(
            len(a), len(b)
        )


class BERTScore:
    """The F1 of two texts' tokens in context, each matched greedily with the most similar one of the other (Zhang et al. 2020).

    Written from the paper's definition: the last release of `bert-score` (0.3.13) fails with transformers 5 on an empty
    text. In one thing scores differ from its: there a token may also be matched with a special token of the other text.

    Similarity is the cosine of hidden states. Tokens that the tokenizer adds ([CLS], <s> and the like) take no part, all
    others count the same: the optional weights by inverse document frequency and the rescaling with a baseline are left
    out, as in the default of `bert-score`. A text without tokens has similarity 0 to all.

    Args:
        model: Any encoder of the Hugging Face hub, or a folder. The default is the paper's.
        layer: The layer whose hidden states are compared; 0 are the embeddings. The authors chose 17 for roberta-large,
            10 for roberta-base, 9 for bert-base-uncased and 18 for bert-large-uncased.
        device: Such as "cuda"; None for CUDA where it is there, else the CPU.
        batch_size: Texts in one forward pass.

    Raises:
        InvalidInputError: On first use, if the model cannot be loaded or has no such layer.
        MissingDependencyError: On first use, where torch or transformers is absent.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = "roberta-large",
        *,
        layer: int = 17,
        device: str | None = None,
        batch_size: int = 64,
    ) -> None:
        self.model = os.fspath(model)
        self.layer = layer
        self.device = device
        self.batch_size = batch_size
        self._loaded: tuple[Any, Any] | None = None
        self._lock = Lock()

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the scores. Shape: (len(a), len(b))."""
        return self.prepare([*a, *b])(a, b)

    def prepare(self, texts: Sequence[str]) -> Similarity:
        """Run the model over texts, once each, and return the score between any of them."""
        distinct = sorted(dict.fromkeys(texts), key=len, reverse=True)  # little padding
        embedded: dict[str, Embedded] = {}
        with self._lock:
            for start in range(0, len(distinct), self.batch_size):
                batch = distinct[start : start + self.batch_size]
                embedded.update(zip(batch, self._embed(batch), strict=True))
        return lambda a, b: _scores([embedded[text] for text in a], [embedded[text] for text in b])

    def _embed(self, texts: list[str]) -> list[Embedded]:
        """Return unit vectors of the texts' tokens. Shape of each: (tokens, dim)."""
        torch = require("torch", extra="models")
        model, tokenizer = self._loaded = self._loaded or self._load()
        # With a space before it, a byte-level tokenizer sees the first word as it sees all others.
        batch = tokenizer(
            [f" {text.strip()}" for text in texts],
            padding=True,
            truncation=True,
            max_length=min(tokenizer.model_max_length, model.config.max_position_embeddings - _reserved(model.config)),
            return_special_tokens_mask=True,
            return_tensors="pt",
        ).to(model.device)
        content = batch["attention_mask"].bool() & ~batch.pop("special_tokens_mask").bool()
        with torch.inference_mode():
            states = model(**batch, output_hidden_states=True).hidden_states[self.layer]
            states = torch.nn.functional.normalize(states.float(), dim=-1)
        return [state[mask].cpu().numpy() for state, mask in zip(states, content, strict=True)]

    def _load(self) -> tuple[Any, Any]:
        transformers = require("transformers", extra="models")
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.model)
            model = transformers.AutoModel.from_pretrained(self.model)
        except (OSError, ValueError) as error:
            message = f"cannot load the encoder {self.model!r}: {str(error).strip().partition(chr(10))[0]}"
            raise InvalidInputError(message) from error
        if not 0 <= self.layer <= model.config.num_hidden_layers:
            layers = model.config.num_hidden_layers
            message = f"{self.model!r} has {layers} layers: expected layer within that, got layer={self.layer}"
            raise InvalidInputError(message)
        return model.to(usable_device(self.device, extra="models")).eval(), tokenizer


def _reserved(config: Any) -> int:
    """Return how many positions RoBERTa and its kin never use: they count from the padding token's id."""
    return config.pad_token_id + 1 if "roberta" in config.model_type and config.pad_token_id is not None else 0


def _scores(a: Sequence[Embedded], b: Sequence[Embedded]) -> Matrix:
    """Return the F1 of greedy matching. Shape: (len(a), len(b))."""
    scores = np.zeros((len(a), len(b)))
    rows, columns = ([at for at, tokens in enumerate(side) if len(tokens)] for side in (a, b))
    if not rows or not columns:
        return scores
    row_tokens, column_tokens = [a[at] for at in rows], [b[at] for at in columns]
    starts, ends = ([0, *np.cumsum([len(tokens) for tokens in side])[:-1]] for side in (row_tokens, column_tokens))
    cosines = products(np.concatenate(row_tokens), np.concatenate(column_tokens).T)
    precision = np.add.reduceat(np.maximum.reduceat(cosines, ends, axis=1), starts, axis=0)
    recall = np.add.reduceat(np.maximum.reduceat(cosines, starts, axis=0), ends, axis=1)
    precision /= np.array([[len(tokens)] for tokens in row_tokens])
    recall /= np.array([[len(tokens) for tokens in column_tokens]])
    total = precision + recall
    scores[np.ix_(rows, columns)] = 2 * precision * recall / np.where(total, total, 1)
    return scores


def _tokens(text: str) -> Counter[str]:
    return Counter(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _overlap(a: Counter[str], b: Counter[str]) -> float:
    size = a.total() + b.total()
    return 2 * (a & b).total() / size if a and b else float(not size)


def _distinct(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        message = f"expected a list of propositions, got the string {texts!r:.80}"
        raise InvalidInputError(message)
    return list(dict.fromkeys(texts))
