"""The weights of a SpEL model: a RoBERTa encoder and an output embedding, whatever file they came from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.entities.spel.windows import SIZE
from factoid.errors import UnreadableFileError

if TYPE_CHECKING:
    from torch import Tensor

OUT = "out.weight"

_HEAD = 64  # dimensions of an attention head, in every RoBERTa
_PADDING = 1  # id of <pad>; positions count from the one after it
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
_UNUSED = re.compile(r"embeddings\.(position_ids|token_type_ids)|pooler\..*")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Sizes:
    """What tells a RoBERTa of one size from one of another, under the names that transformers gives them."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int

    @property
    def limit(self) -> int:
        """The most tokens that the model reads, <s> and </s> included."""
        return self.max_position_embeddings - _PADDING - 1


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's tensors in float32 on the CPU.

    Attributes:
        sizes: Of the encoder.
        encoder: By their names in a `RobertaModel` without pooling layer.
        out: One row for each entity. Shape: (entities, hidden).
    """

    sizes: Sizes
    encoder: dict[str, Tensor]
    out: Tensor

    def build(self, device: Any) -> Any:
        """Return the encoder as a `RobertaModel` in evaluation mode.

        Raises:
            UnreadableFileError: A tensor is missing, is too many or of a wrong shape.
        """
        torch, transformers = require("torch", extra="spel"), require("transformers", extra="spel")
        config = transformers.RobertaConfig(**asdict(self.sizes), pad_token_id=_PADDING, layer_norm_eps=1e-5)
        with torch.device("meta"):  # random weights would take seconds, and random numbers from the caller
            model = transformers.RobertaModel(config, add_pooling_layer=False)
        try:
            model.load_state_dict(self.encoder, assign=True)
        except RuntimeError as error:
            expected, found = set(model.state_dict()), set(self.encoder)
            message = (
                "the encoder's tensors are not those of a RoBERTa: missing "
                f"{_some(expected - found)}, unexpected {_some(found - expected)}"
                f"{'' if expected != found else ', of another shape: ' + str(error).splitlines()[-1].strip()}"
            )
            raise UnreadableFileError(message) from error
        positions = torch.arange(self.sizes.max_position_embeddings).unsqueeze(0)
        model.embeddings.position_ids = positions  # buffers that no checkpoint holds
        model.embeddings.token_type_ids = torch.zeros_like(positions)
        return model.requires_grad_(False).eval().to(device)


def make_weights(encoder: Mapping[str, Any], out: Any) -> Weights:
    """Return weights of which the sizes are derived from the shapes.

    Args:
        encoder: Tensors by their names in a `RobertaModel`; those that inference does not need are left out.
        out: The output embedding.

    Raises:
        UnreadableFileError: Something is missing, is no tensor, has values that are no finite numbers, or the shapes do not
            fit each other.
    """
    torch = require("torch", extra="spel")
    kept = {name: tensor for name, tensor in encoder.items() if not _UNUSED.fullmatch(name)}
    foreign = [name for name, tensor in {**kept, OUT: out}.items() if not _is_weight(tensor, torch)]
    if foreign:
        message = f"expected tensors of numbers, got something else as {_some(foreign)}"
        raise UnreadableFileError(message)
    sizes = _sizes(kept)
    if out.ndim != 2 or out.shape[1] != sizes.hidden_size:
        message = (
            f"the output embedding's shape is {tuple(out.shape)}, but the encoder gives {sizes.hidden_size} dimensions: "
            f"expected (entities, {sizes.hidden_size})"
        )
        raise UnreadableFileError(message)
    weights = Weights(sizes, {name: tensor.float() for name, tensor in kept.items()}, out.float().contiguous())
    for name, tensor in [*weights.encoder.items(), (OUT, weights.out)]:
        _check_finite(name, tensor)
    return weights


def _check_finite(name: str, tensor: Tensor) -> None:
    # A sum is fifteen times faster than to ask each value. It may overflow where all of them are finite.
    if bool(tensor.sum().isfinite()):
        return
    wrong = ~tensor.isfinite()
    if count := int(wrong.sum()):
        message = (
            f"{count:,} of the {tensor.numel():,} values of {name} are NaN or infinite, the first of them at "
            f"{wrong.nonzero()[0].tolist()}: the file is damaged, or the training failed"
        )
        raise UnreadableFileError(message)


def _is_weight(value: Any, torch: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _sizes(encoder: Mapping[str, Any]) -> Sizes:
    try:
        words, hidden = encoder["embeddings.word_embeddings.weight"].shape
        positions = encoder["embeddings.position_embeddings.weight"].shape[0]
        types = encoder["embeddings.token_type_embeddings.weight"].shape[0]
        inner = encoder["encoder.layer.0.intermediate.dense.weight"].shape[0]
    except (KeyError, ValueError, IndexError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        message = f"the encoder is no RoBERTa: {reason}. Expected a checkpoint of SpEL base or large"
        raise UnreadableFileError(message) from error
    layers = {int(match[1]) for name in encoder if (match := _LAYER.match(name))}
    if layers != set(range(len(layers))):
        message = f"the encoder has gaps among its layers: {sorted(layers)}"
        raise UnreadableFileError(message)
    if hidden % _HEAD or positions < SIZE + _PADDING + 1:
        message = (
            f"the encoder has {hidden} dimensions and {positions} positions: expected a multiple of {_HEAD} dimensions "
            f"(768 base, 1024 large), and at least {SIZE + _PADDING + 1} positions, for windows of {SIZE} tokens"
        )
        raise UnreadableFileError(message)
    return Sizes(words, hidden, len(layers), hidden // _HEAD, inner, positions, types)


def _some(names: Any) -> str:
    names = sorted(names)
    if not names:
        return "none"
    further = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + further
