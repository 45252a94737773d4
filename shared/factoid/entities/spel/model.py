"""A SpEL model: checkpoint, vocabulary of entities, tokenizer, and predictions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.errors import FactoidError, InvalidInputError, UnreadableFileError

if TYPE_CHECKING:
    from torch import Tensor

OUTSIDE = 0  # the id of "no entity"
# as published, in the order of their ids
_VOCABULARY = ("aida.txt", "enwiki_20230827.txt", "out_of_domain.txt")
_AT_ONCE = 32  # tokens whose probabilities for all entities, some megabytes each, are in memory
_HEAD_SIZE = 64  # dimensions of an attention head, in every RoBERTa
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
_UNUSED = re.compile(r"embeddings\.(position_ids|token_type_ids)|pooler\..*")

Prediction = dict[int, float]
"""The most probable entities of a subword with their probabilities, at least one, best first."""


class SpELModel:
    """A loaded model; arguments are those of `SpELLinker`.

    Attributes:
        titles: The title of each entity by its id; "" for no entity, padding, and the empty entry
            after a last line end.
        tokenizer: A fast tokenizer of transformers.
        limit: The most tokens of a text, <s> and </s> included.
    """

    def __init__(
        self, folder: Path, tokenizer: str | PathLike[str], *, top_k: int, device: Any
    ) -> None:
        torch = require("torch", extra="models")
        transformers = require("transformers", extra="models")
        checkpoints = sorted(folder.glob("*.pt"))
        if len(checkpoints) != 1:
            names = ", ".join(path.name for path in checkpoints) or "none"
            raise UnreadableFileError(
                f"expected one .pt checkpoint of SpEL in {folder}, found {names}"
            )
        try:
            self.tokenizer = transformers.RobertaTokenizerFast.from_pretrained(tokenizer)
            encoder, out = read_checkpoint(checkpoints[0])
            self.titles = read_titles(folder, len(out))
        except FactoidError:
            raise
        except Exception as error:  # each of the libraries below raises its own
            # PyTorch advises loading the file anyway, which would run its code.
            if "weights_only" in str(error):
                reason = "it holds code"
            else:
                reason = str(error).partition("\n")[0][:200]
            raise UnreadableFileError(
                f"cannot load {checkpoints[0]} with the tokenizer {str(tokenizer)!r}: "
                f"{reason or type(error).__name__}. Expected a whole checkpoint as SpEL's authors "
                "published it, and RoBERTa's tokenizer"
            ) from error
        self.limit = encoder.config.max_position_embeddings - encoder.config.pad_token_id - 1
        if not device:
            device = "cpu"
            if torch.cuda.is_available():
                device = "cuda"
        usable = torch.device(device)
        self._encoder = encoder.to(usable)
        self._out = out.to(usable)
        self._top_k = min(top_k, len(out))

    def predict(self, tokens: Sequence[int]) -> list[Prediction]:
        """Return a prediction for each token of a text, <s> and </s> included."""
        torch = require("torch", extra="models")
        predictions: list[Prediction] = []
        with torch.inference_mode():
            hidden = self._encoder(
                torch.tensor([tokens], device=self._out.device)
            ).last_hidden_state[0]
            for some in hidden.split(_AT_ONCE):
                best = (some @ self._out.T).softmax(-1).topk(self._top_k)
                rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
                predictions += [dict(zip(*row, strict=True)) for row in rows]
        return predictions


def read_titles(folder: Path, rows: int) -> list[str]:
    """Return the title of each row of an output embedding.

    Those of aida.txt if their number fits, else of all files. Each line of the published files is
    the entity of one id. Underscores become spaces, and the %27 and %26 of out_of_domain.txt become
    characters.

    Raises:
        InvalidInputError: The files have another length.
    """
    files = [folder / name for name in _VOCABULARY]
    lines = []
    for path in files:
        if path.is_file():
            lines.append(path.read_bytes().decode().split("\n"))
        else:
            lines.append([])
    entries = ["|||O|||", "<pad>", *lines[0]]
    if len(entries) != rows:
        known = frozenset(entries)
        entries += [entry for entry in dict.fromkeys([*lines[1], *lines[2]]) if entry not in known]
    if len(entries) != rows:
        missing = ", ".join(path.name for path in files if not path.is_file())
        fault = f"{missing} is missing" if missing else "a file is cut short or of another version"
        raise InvalidInputError(
            f"the vocabulary in {folder} has {len(entries):,} entries, but the checkpoint's "
            f"output embedding has {rows:,} rows: {fault}"
        )
    titles = []
    for entry in entries:
        titles.append(entry.replace("%27", "'").replace("%26", "&").replace("_", " ").strip())
    return ["", "", *titles[2:]]


def read_checkpoint(path: Path) -> tuple[Any, Tensor]:
    """Return the encoder and the output embedding of a checkpoint in the published format.

    The format is a dict with `bert_lm`, the state dict of a `RobertaForMaskedLM`, and `out`, the
    state dict of an `Embedding` with a row for each entity.
    """
    torch = require("torch", extra="models")
    transformers = require("transformers", extra="models")
    # With mmap the language model's head takes no memory.
    content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    state = content["bert_lm"]
    names = {name: name.removeprefix("roberta.") for name in state if name.startswith("roberta.")}
    tensors = {}
    for name, plain_name in names.items():
        if not _UNUSED.fullmatch(plain_name):
            tensors[plain_name] = state[name].float().contiguous()
    words, hidden = tensors["embeddings.word_embeddings.weight"].shape
    config = transformers.RobertaConfig(
        vocab_size=words,
        hidden_size=hidden,
        num_hidden_layers=len({match[1] for name in tensors if (match := _LAYER.match(name))}),
        num_attention_heads=hidden // _HEAD_SIZE,
        intermediate_size=len(tensors["encoder.layer.0.intermediate.dense.weight"]),
        max_position_embeddings=len(tensors["embeddings.position_embeddings.weight"]),
        type_vocab_size=len(tensors["embeddings.token_type_embeddings.weight"]),
        pad_token_id=1,
        layer_norm_eps=1e-5,
    )
    # random weights would take seconds, and advance the caller's random numbers
    with torch.device("meta"):
        model = transformers.RobertaModel(config, add_pooling_layer=False)
    model.load_state_dict(tensors, assign=True)
    positions = torch.arange(config.max_position_embeddings).unsqueeze(0)
    model.embeddings.position_ids = positions  # this buffer and the next are not in checkpoints
    model.embeddings.token_type_ids = torch.zeros_like(positions)
    return model.requires_grad_(False).eval(), content["out"]["weight"].float().contiguous()
