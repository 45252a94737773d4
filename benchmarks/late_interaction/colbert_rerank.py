"""LlamaIndex's ColbertRerank: how fast it ranks, and what its scores are, as they are not ColBERT's
MaxSim.

It loads the checkpoint as a plain BERT, without ColBERT's projection, and gives neither query nor
passage a marker, nor the query its [MASK]s; a score is the mean, over the query's tokens with [CLS]
and [SEP], of the largest cosine of hidden states with any token of the passage, punctuation
included. Texts above 512 tokens are cut. Passages go through the model one by one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from factoid.late_interaction import LateInteractionEncoder, TokenVectors


@dataclass(frozen=True)
class PeerScores:
    """How the peer's scores differ from MaxSim of the same checkpoint over the same passages.

    Attributes:
        cosines: Largest difference of its scores from means of largest cosines of hidden states,
            computed here.
        ratio: Its scores beside MaxSim divided by the number of query vectors: the means of both.
        order: Spearman's correlation of both over passages, mean over queries.
        first: Share of queries with the same first passage.
    """

    HEAD: ClassVar = [
        "its score − mean cosine of hidden states",
        "its mean score",
        "MaxSim ÷ query vectors, mean",
        "Spearman's ρ",
        "same first passage",
    ]

    cosines: float
    ratio: tuple[float, float]
    order: float
    first: float

    def row(self) -> list[str]:
        return [
            f"{self.cosines:.1g}",
            *(f"{mean:.3f}" for mean in self.ratio),
            f"{self.order:.2f}",
            f"{self.first:.0%}",
        ]


class Peer:
    """The peer over some passages, as a function of the query, which remembers its scores.

    Raises:
        ImportError: It is not installed.
    """

    def __init__(self, folder: Path, passages: Sequence[str]) -> None:
        from llama_index.postprocessor.colbert_rerank import ColbertRerank

        self._passages = passages
        self._reranker = ColbertRerank(
            top_n=len(passages), model=str(folder), tokenizer=str(folder), device="cpu"
        )
        self.scores: dict[str, np.ndarray] = {}

    def __call__(self, query: str) -> None:
        from llama_index.core.schema import NodeWithScore, TextNode

        nodes = []
        for at, text in enumerate(self._passages):
            nodes.append(NodeWithScore(node=TextNode(text=text, id_=str(at)), score=0.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it keeps gradients, of which torch warns
            ranked = self._reranker.postprocess_nodes(nodes, query_str=query)
        scores = np.zeros(len(nodes))
        for scored in ranked:
            scores[int(scored.node.node_id)] = scored.score
        self.scores[query] = scores


def rerank(folder: Path, passages: Sequence[str]) -> Peer | None:
    """Return the peer over some passages; None where it is not installed."""
    try:
        return Peer(folder, passages)
    except ImportError:
        return None


def peer_scores(
    folder: Path,
    encoder: LateInteractionEncoder,
    passages: Sequence[str],
    encoded: Sequence[TokenVectors],
    scores: Mapping[str, np.ndarray],
) -> PeerScores:
    """Compare the peer's scores, by query, with MaxSim, and with what its code says that they
    are.
    """
    from scipy.stats import spearmanr

    hidden = _hidden_states(folder)
    states = [hidden(text) for text in passages]
    differences = []
    means = []
    orders = []
    first = []
    for query, peer in scores.items():
        own = hidden(query)
        expected = _mean_similarities(own, states)
        differences.append(np.abs(peer - expected).max())
        tokens = encoder.encode_query(query).vectors
        exact = _mean_similarities(tokens, [of_passage.vectors for of_passage in encoded])
        means.append((peer.mean(), exact.mean()))
        orders.append(spearmanr(peer, exact).statistic)
        first.append(peer.argmax() == exact.argmax())
    peer_mean, exact_mean = np.mean(means, axis=0)
    return PeerScores(
        max(differences), (peer_mean, exact_mean), float(np.mean(orders)), float(np.mean(first))
    )


def _mean_similarities(query: np.ndarray, passages: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean over a query's tokens of the nearest token's cosine, for each passage."""
    means = []
    for passage in passages:
        means.append((query @ passage.T).max(axis=1).mean())
    return np.array(means)


def _hidden_states(folder: Path) -> Callable[[str], np.ndarray]:
    """Return a function of a text to its last hidden states at unit length, as a plain BERT has
    them.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def states(text: str) -> np.ndarray:
        with torch.no_grad():
            rows = model(
                **tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
            ).last_hidden_state[0]
        return torch.nn.functional.normalize(rows, dim=-1).numpy()

    return states
