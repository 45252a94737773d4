"""The Propositionizer of the paper, or any other seq2seq model that writes propositions (Dense X Retrieval, §3)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from tqdm.auto import tqdm

from factoid._optional import require
from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompt import passage_input
from factoid.propositions.protocol import NoPropositions
from factoid.sentences import sentence_spans
from factoid.units import Unit

if TYPE_CHECKING:
    import torch

DEFAULT_MODEL = "chentong00/propositionizer-wiki-flan-t5-large"
_T5_TOKENS = 512  # what T5 was trained on; used where neither model nor tokenizer states a limit


class FlanT5Propositionizer:
    """Decomposes passages with a seq2seq model that answers `passage_input` with a JSON list.

    The model is loaded on first use. Passages are generated greedily in batches of similar length; one object may be
    used from several threads, which then take turns.

    Args:
        model: Name on the Hugging Face hub, or a folder as `save_pretrained` writes it.
        device: Such as "cuda:1"; None for the first of CUDA, MPS and CPU that is there.
        dtype: Such as "float32"; None for bfloat16 on GPUs that compute in it, float16 on other CUDA devices, else
            float32.
        batch_size: Passages generated together.
        max_new_tokens: Longest output. Of an output that is cut off the complete propositions are kept.
        revision: Branch, tag or commit of a model on the hub.
        show_progress: Whether to show a bar when there is more than one batch.

    Raises:
        InvalidInputError: `batch_size` or `max_new_tokens` is below 1.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype | None = None,
        batch_size: int = 16,
        max_new_tokens: int = 512,
        revision: str | None = None,
        show_progress: bool = False,
    ) -> None:
        if batch_size < 1 or max_new_tokens < 1:
            message = (
                f"expected batch_size >= 1 and max_new_tokens >= 1, got batch_size={batch_size}, "
                f"max_new_tokens={max_new_tokens}"
            )
            raise InvalidInputError(message)
        self.model = os.fspath(model)
        self.device = device
        self.dtype = dtype
        self.batch_size = batch_size
        self.max_new_tokens = max_new_tokens
        self.revision = revision
        self.show_progress = show_progress
        self._engine: _Engine | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """Model and revision: what the output depends on, besides the passage."""
        return f"{self.model}@{self.revision}" if self.revision else self.model

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order; `NoPropositions` for one that failed.

        A passage that is too long for the model is cut at sentence ends, and the propositions of its parts are joined.

        Raises:
            PropositionizerError: The model cannot be loaded.
            MissingDependencyError: torch or transformers is not installed.
            InvalidInputError: A passage holds lone surrogates, or `dtype` is unknown.
        """
        results: list[list[str]] = [NoPropositions("empty passage") for _ in passages]
        filled = [index for index, passage in enumerate(passages) if passage.text.strip()]
        if not filled:
            return results
        with self._lock:
            self._engine = engine = self._engine or _load(self.model, self.revision, self.device, self.dtype)
            inputs = [
                (index, text, length)
                for index, parts in zip(filled, engine.inputs([passages[index] for index in filled]), strict=True)
                for text, length in parts
            ]
        # Longest first: little padding, and what does not fit into memory shows at once.
        order = sorted(range(len(inputs)), key=lambda at: inputs[at][2], reverse=True)
        outputs: list[list[str]] = [[] for _ in inputs]
        batches = [order[at : at + self.batch_size] for at in range(0, len(order), self.batch_size)]
        hidden = not self.show_progress or len(batches) == 1
        with tqdm(total=len(inputs), desc="propositions", unit="passage", disable=hidden) as bar:
            for batch in batches:
                with self._lock:
                    answers = engine.generate([inputs[at][1] for at in batch], self.max_new_tokens)
                for at, (answer, cut_off) in zip(batch, answers, strict=True):
                    outputs[at] = read_propositions(answer, cut_off=cut_off)
                bar.update(len(batch))
        for (index, _, _), texts in zip(inputs, outputs, strict=True):
            # A part that failed shows as sentences that no proposition covers; the reason counts if all parts failed.
            results[index] = [*results[index], *texts] if results[index] or texts else texts
        return results

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock and the model, so that worker processes can be handed the object."""
        return {**self.__dict__, "_engine": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())


class _Engine(NamedTuple):
    """A loaded model with its tokenizer, and the most tokens that it reads."""

    model: Any
    tokenizer: Any
    limit: int

    def inputs(self, passages: Sequence[Unit]) -> list[list[tuple[str, int]]]:
        """Return for each passage its input, or several if it is too long, each with its number of tokens."""
        texts = [passage_input(passage) for passage in passages]
        found = []
        for passage, text, length in zip(passages, texts, self._lengths(texts), strict=True):
            if length <= self.limit:
                found.append([(text, length)])
            else:
                parts = [passage_input(part) for part in _cut(self._slim(passage), self._fits)]
                found.append(list(zip(parts, self._lengths(parts), strict=True)))
        return found

    def generate(self, texts: list[str], max_new_tokens: int) -> list[tuple[str, bool]]:
        """Return the greedy output for each text, and whether it was cut off."""
        torch = require("torch", extra="models")
        batch = self.tokenizer(texts, padding=True, return_tensors="pt", verbose=False).to(self.model.device)
        with torch.inference_mode():
            tokens = self.model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                max_new_tokens=max_new_tokens,
                do_sample=False,
                num_beams=1,
            )
        ended = (tokens[:, 1:] == self.tokenizer.eos_token_id).any(dim=1).tolist()
        answers = self.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [(answer, not end) for answer, end in zip(answers, ended, strict=True)]

    def _lengths(self, texts: list[str]) -> list[int]:
        return [len(tokens) for tokens in self.tokenizer(texts, verbose=False)["input_ids"]]

    def _fits(self, passage: Unit) -> bool:
        return self._lengths([passage_input(passage)])[0] <= self.limit

    def _slim(self, passage: Unit) -> Unit:
        """Leave out a section and a title that would take half of what the model reads."""
        for slim in (passage, replace(passage, section="")):
            if self._lengths([passage_input(replace(slim, text=""))])[0] <= self.limit // 2:
                return slim
        return replace(passage, section="", title="")


def _load(
    name: str, revision: str | None, device: str | torch.device | None, dtype: str | torch.dtype | None
) -> _Engine:
    torch = require("torch", extra="models")
    transformers = require("transformers", extra="models")
    damaged = require("safetensors", extra="models").SafetensorError
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind = torch.device(device)
    if isinstance(dtype, str):
        if not isinstance(getattr(torch, dtype, None), torch.dtype):
            message = f'dtype must be the name of a torch dtype such as "float32" or "bfloat16", got {dtype!r}'
            raise InvalidInputError(message)
        dtype = getattr(torch, dtype)
    elif dtype is None:
        dtype = _dtype(torch, kind)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, revision=revision)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(name, revision=revision, dtype=dtype)
    except (OSError, ValueError, RuntimeError, damaged) as error:
        at = f" at revision {revision!r}" if revision else ""
        message = (
            f"cannot load the seq2seq model {name!r}{at}: {str(error).strip().partition(chr(10))[0]} Expected a model "
            "of the Hugging Face hub (its first use downloads it; without network, run `hf download` on a machine that "
            "has one and pass the folder), or a folder as save_pretrained writes it"
        )
        raise PropositionizerError(message) from error
    model = model.to(kind).eval()
    stated = [
        getattr(model.config, "n_positions", None),
        getattr(model.config, "max_position_embeddings", None),
        tokenizer.model_max_length,
    ]
    # Tokenizers without a limit state 1e30.
    return _Engine(model, tokenizer, min((int(size) for size in stated if size and size < 1e9), default=_T5_TOKENS))


def _dtype(torch: Any, device: torch.device) -> torch.dtype:
    if device.type != "cuda":
        return torch.float32  # type: ignore[no-any-return]
    native = torch.cuda.get_device_capability(device) >= (8, 0)
    return torch.bfloat16 if native else torch.float16  # type: ignore[no-any-return]


def _cut(passage: Unit, fits: Callable[[Unit], bool]) -> Iterator[Unit]:
    """Halve a passage until its parts fit. Their text is the passage's; their spans are not adjusted."""
    if len(passage.text) < 2 or fits(passage):
        yield passage
        return
    middle = _middle(passage.text)
    for text in (passage.text[:middle], passage.text[middle:]):
        if text.strip():
            yield from _cut(replace(passage, text=text), fits)


def _middle(text: str) -> int:
    """Return where to halve a text: at the sentence that begins nearest to the middle, else at white space."""
    half = len(text) // 2
    starts = [start for start, _ in sentence_spans(text)[1:]]
    starts = starts or [at for at in (text.rfind(" ", 1, half), text.find(" ", half)) if at > 0]
    return min(starts, key=lambda start: abs(start - half), default=half)
