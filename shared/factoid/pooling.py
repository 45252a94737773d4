"""How a model's token vectors become the vector of a text, where its folder does not say so.

Sentence Transformers pools by the mean where it finds no configuration of its own. That is wrong
for models that were trained on their first token, such as SimCSE, so it is never taken silently.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from factoid._optional import require
from factoid.errors import InvalidInputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Pooling = Literal["cls", "mean", "lasttoken"]

# What a model was trained with, by a word in its name or in its class.
_FAMILIES: dict[str, Pooling] = {
    "simcse": "cls",
    "contriever": "mean",
    "tas-b": "cls",
    "tas_b": "cls",
}


def check_pooling(pooling: Pooling | None) -> Pooling | None:
    """Return a checked pooling, or None for that of the model.

    Raises:
        InvalidInputError: There is no such pooling.
    """
    if pooling is not None and pooling not in get_args(Pooling):
        raise InvalidInputError(
            f"pooling must be one of {', '.join(get_args(Pooling))}, or None for what the model's "
            f"own configuration says, got {pooling!r}"
        )
    return pooling


def load_pooled(model: str, pooling: Pooling | None, device: str | None) -> SentenceTransformer:
    """Load a model, by name or folder, and pool as told, or as the model was trained.

    Raises:
        InvalidInputError: Nothing says how the model pools, or it is one half of DPR.
    """
    library = require("sentence_transformers", extra="models")
    if pooling is None:
        pooling = pooling_of(model)
    if pooling is None:
        return library.SentenceTransformer(model, device=device)  # type: ignore[no-any-return]
    modules = require("sentence_transformers.sentence_transformer.modules", extra="models")
    tokens = modules.Transformer(model)
    pooled = modules.Pooling(tokens.get_embedding_dimension(), pooling)
    return library.SentenceTransformer(  # type: ignore[no-any-return]
        modules=[tokens, pooled], device=device
    )


def pooling_of(model: str) -> Pooling | None:
    """Return the pooling of a model without Sentence Transformers' configuration.

    None if it has that configuration.

    Raises:
        InvalidInputError: The model is of no known family, or one half of DPR.
    """
    files = require("sentence_transformers.util", extra="models")
    if files.is_sentence_transformer_model(model):
        return None
    config = require("transformers", extra="models").AutoConfig.from_pretrained(model)
    if config.model_type == "dpr":
        raise InvalidInputError(
            f"{model!r:.120} is one half of DPR, which has a model for questions and one for "
            'texts: use make_retriever("dpr", QUESTIONS, TEXTS) of factoid.dual_encoders, or '
            "--encoder dpr:QUESTIONS,TEXTS"
        )
    names = [Path(model).name, *(config.architectures or ())]
    for family, pooling in _FAMILIES.items():
        if any(family in name.lower() for name in names):
            return pooling
    raise InvalidInputError(
        f"{model!r:.120} does not say how the vectors of its tokens become one: it has no "
        "modules.json of Sentence Transformers, and is of no known family. Say what it was "
        'trained with: SentenceTransformerEncoder(model, pooling="mean") or "cls"'
    )
