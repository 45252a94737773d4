"""Load the model to train.

A late-interaction checkpoint, or a plain encoder with a projection, and its second marker.
"""

from __future__ import annotations

from typing import Any

from factoid._optional import require
from factoid.encode import loading
from factoid.errors import InvalidInputError
from factoid.late_interaction.encoder import FINER_PROMPT, build_model

_MARKERS = {
    "query": ("[unused0]", "[Q]"),
    "document": ("[unused1]", "[D]"),
    FINER_PROMPT: ("[unused2]", "[S]"),
}


def load_model(
    name: str, *, projection: int | None = None, seed: int = 0, device: str | None = None
) -> Any:
    """Return a `MultiVectorEncoder` to train.

    Args:
        name: Name or folder of a late-interaction checkpoint or, with `projection`, of any encoder
            that transformers reads.
        projection: Size of the token vectors to which a plain encoder is projected, by a random
            matrix with orthogonal rows, which roughly preserves inner products. Its markers m_q and
            m_p are [unused0] and [unused1] if the tokenizer has them, as in ColBERT; punctuation in
            passages is not scored.
        seed: Seed of the projection.
        device: For example "cpu"; None lets Sentence Transformers choose.

    Raises:
        InvalidInputError: The model cannot be loaded, or has no projection and none is requested.
    """
    library, torch = (
        require("sentence_transformers", extra="train"),
        require("torch", extra="train"),
    )
    with loading("late-interaction model", name):
        if projection is not None:
            return _projected(name, projection, seed, device)
        torch.manual_seed(0)
        model = library.MultiVectorEncoder(name, device=device)
        torch.manual_seed(1)
        again = library.MultiVectorEncoder(name, device=device)
    if not all(map(torch.equal, model.parameters(), again.parameters())):
        raise InvalidInputError(
            f"{name!r} is not a late-interaction checkpoint: it lacks weights, such as the "
            "projection of its token vectors, which would be random. Request one: "
            "projection=128, or --projection 128"
        )
    return model


def _projected(name: str, size: int, seed: int, device: str | None) -> Any:
    torch = require("torch", extra="train")
    from sentence_transformers.base.modules import Dense, Transformer

    encoder = Transformer(name)
    width = encoder.get_embedding_dimension()
    if not 1 <= size <= width:
        raise InvalidInputError(
            f"expected a projection from 1 to {width}, the size of the vectors of {name!r}, got "
            f"{size}"
        )
    weights = torch.empty(size, width)
    torch.nn.init.orthogonal_(weights, generator=torch.Generator().manual_seed(seed))
    options: dict[str, Any] = {
        "bias": False,
        "activation_function": None,
        "module_input_name": "token_embeddings",
    }
    dense = Dense(width, size, init_weight=weights, **options)
    model = build_model(encoder, dense, device=device)
    for prompt in ("query", "document"):
        add_marker(model, prompt)
    return model


def add_marker(model: Any, prompt: str) -> None:
    """Add a marker to a model, unless it has one.

    A token before each text, as the prompt with this name. An unused token of the vocabulary, such
    as BERT's [unused2], keeps its embedding. A copy of m_q's embedding hardly moves in short
    training: after 76 steps of MiniLM the two were 3 % of their length apart, and ranked alike.
    """
    if model.prompts.get(prompt):
        return
    tokenizer, transformer = model.tokenizer, model[0].auto_model
    vocabulary = tokenizer.get_vocab()
    taken = {word for text in model.prompts.values() for word in (text or "").split()}
    unused, new = _MARKERS[prompt]
    marker = unused if unused in vocabulary and unused not in taken else new
    token = require("tokenizers", extra="train").AddedToken(marker, normalized=False, special=True)
    tokenizer.add_special_tokens({"additional_special_tokens": [token]})
    if len(tokenizer) > transformer.get_input_embeddings().num_embeddings:
        transformer.resize_token_embeddings(len(tokenizer))
    model.prompts[prompt] = f"{marker} "
