"""The six retrievers of Dense X Retrieval as encoders (§4.2, Appendix D).

All of them compare a question with a unit by the inner product of their vectors, as the paper's
index does (Appendix C). What differs is which model reads the questions and which the units, how
the vectors of tokens become one, whether that one has length 1, and how a title is joined to a
text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np

from factoid._optional import require
from factoid.encode import Encoder, SentenceTransformerEncoder, Vectors, loading, portable_name
from factoid.errors import InvalidInputError
from factoid.forks import Exclusion, at_work
from factoid.token_counts import longest_first
from factoid.units import whole_number

Role = Literal["queries", "units"]

_LOADING = Exclusion()
_SPECIAL_POSITIONS = 2  # RoBERTa numbers positions from 2
_HEAD = ("embeddingHead.weight", "embeddingHead.bias", "norm.weight", "norm.bias")
_DPR = {"queries": "DPRQuestionEncoder", "units": "DPRContextEncoder"}


@dataclass(frozen=True, slots=True)
class Preset:
    """A retriever of the paper.

    Attributes:
        queries: The checkpoint that reads questions (Appendix D).
        units: The checkpoint that reads passages, sentences and propositions.
        pooling: "cls" and "mean" pool the last layer; "own" is what the checkpoint's own
            configuration says; "head" is the first token's vector through the model's own layers.
        is_unit_length: Whether vectors have length 1, so that inner products are cosines.
        template: How the retriever was trained to read a title with its text, as
            `UnitStore(embed_template=…)` takes it.
        is_supervised: Whether questions with labelled passages were trained on (§4.2).
        trained_on: The data sets of the paper whose training questions it has seen; these columns
            are underlined in Tables 2 and 3. The split of §5.2 follows from it.
    """

    queries: str
    units: str
    pooling: Literal["cls", "mean", "own", "head"]
    is_unit_length: bool = False
    template: str = "{title} {text}"
    is_supervised: bool = True
    trained_on: tuple[str, ...] = ()


_SIMCSE = "princeton-nlp/unsup-simcse-bert-base-uncased"
_CONTRIEVER = "facebook/contriever"
_TAS_B = "sentence-transformers/msmarco-distilbert-base-tas-b"
_GTR = "sentence-transformers/gtr-t5-base"
_OF_DPR = ("NQ", "TQA", "WebQ", "SQuAD")

RETRIEVERS = {
    "simcse": Preset(_SIMCSE, _SIMCSE, "cls", is_supervised=False),
    "contriever": Preset(_CONTRIEVER, _CONTRIEVER, "mean", is_supervised=False),
    "dpr": Preset(
        "facebook/dpr-question_encoder-multiset-base",
        "facebook/dpr-ctx_encoder-multiset-base",
        "head",
        template="{title} [SEP] {text}",
        trained_on=_OF_DPR,
    ),
    "ance": Preset(
        "castorini/ance-dpr-question-multi",
        "castorini/ance-dpr-context-multi",
        "head",
        trained_on=_OF_DPR,
    ),
    "tas-b": Preset(_TAS_B, _TAS_B, "cls"),
    "gtr": Preset(_GTR, _GTR, "own", is_unit_length=True, trained_on=("NQ",)),
}
"""The retrievers of Dense X Retrieval, in the order of its tables."""


def make_retriever(
    name: str,
    queries: str | PathLike[str] | None = None,
    units: str | PathLike[str] | None = None,
    *,
    device: str | None = None,
    batch_size: int = 64,
) -> Encoder:
    """Return one of the six retrievers as an encoder.

    Args:
        name: "simcse", "contriever", "dpr", "ance", "tas-b" or "gtr".
        queries: The folder of its checkpoint, or of that for questions; None for the paper's, by
            its name on the hub.
        units: The folder of the checkpoint that reads texts, of "dpr" and "ance". ANCE for MS MARCO
            has one for both: then it is left out.
        device: For example "cpu" or "cuda"; None for a GPU if there is one.
        batch_size: Texts in one forward pass.

    Raises:
        InvalidInputError: There is no such retriever, or a folder is missing or too many.
    """
    if name not in RETRIEVERS:
        raise InvalidInputError(
            f"there is no retriever {name!r}: choose one of {', '.join(RETRIEVERS)}"
        )
    preset = RETRIEVERS[name]
    if preset.pooling == "head":
        if queries is None and units is None:
            queries = preset.queries
            units = preset.units
        elif queries is None or (units is None and name == "dpr"):
            raise InvalidInputError(
                f"{name} reads questions and texts with two models: give both folders"
            )
        return DualEncoder(queries, units, device=device, batch_size=batch_size)
    if units is not None:
        raise InvalidInputError(f"{name} has one model for questions and texts: give one folder")
    model = preset.queries
    recorded: str | None = model  # whatever way it was opened
    if queries is not None:
        model = fspath(queries)
        recorded = None
    if preset.pooling == "own":
        folder = Path(model)
        if folder.is_dir() and not (folder / "modules.json").is_file():
            raise InvalidInputError(
                f"{folder} holds no modules.json: {name} needs the folder as Sentence Transformers "
                "writes it, with the layer behind its pooling"
            )
        return SentenceTransformerEncoder(model, device=device, batch_size=batch_size)
    return SentenceTransformerEncoder(
        model, device=device, batch_size=batch_size, pooling=preset.pooling, name=recorded
    )


def named_retriever(text: str, **options: Any) -> Encoder | None:
    """Return the retriever that a text names, or None if it names none.

    It is "dpr", "simcse:FOLDER" or "dpr:QUESTIONS,TEXTS".

    Raises:
        InvalidInputError: As `make_retriever`.
    """
    name, _, places = text.partition(":")
    if name not in RETRIEVERS:
        return None
    folders = [place for place in places.split(",") if place]
    if len(folders) > 2:
        raise InvalidInputError(f"expected {name}:QUESTIONS,TEXTS, got {text!r:.200}")
    return make_retriever(name, *folders, **options)


class DualEncoder:
    """Two models of one retriever: one reads questions, the other units (Karpukhin et al., 2020).

    The vector of a text is that of its first token: DPR's own output, or for ANCE what its linear
    layer and layer normalization make of it. Segment ids are all 0, as in DPR's training, so a
    title and a text with "[SEP]" between them are read as a pair is. Models are loaded on first
    use; vectors are not normalized.

    Args:
        queries: Name or folder of the model that reads questions.
        units: Of the one that reads texts; None for the same.
        device: For example "cpu" or "cuda"; None for a GPU if there is one.
        batch_size: Texts in one forward pass.
        name: The name that a store records; None for those of the two models, or of a folder one
            made from its weights.

    Raises:
        MissingDependencyError: On first use, where transformers is absent.
        InvalidInputError: On first use, if a model cannot be loaded, is neither DPR's nor ANCE's,
            or is DPR's for the other side.
    """

    def __init__(
        self,
        queries: str | PathLike[str],
        units: str | PathLike[str] | None = None,
        *,
        device: str | None = None,
        batch_size: int = 64,
        name: str | None = None,
    ) -> None:
        self.batch_size = whole_number("batch_size", batch_size)
        self.device = device
        self._sources: dict[Role, str] = {"queries": fspath(queries), "units": fspath(queries)}
        if units is not None:
            self._sources["units"] = fspath(units)
        self._name = name
        self._loaded: dict[Role, _Model] = {}

    @property
    def name(self) -> str:
        """The name that a store records for this encoder."""
        if self._name is None:
            names = [portable_name(source) for source in self._sources.values()]
            self._name = " + ".join(dict.fromkeys(names))
        return self._name

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors. Shape: (len(texts), dim)."""
        return self._model("queries").encode(texts, self.batch_size)

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors. Shape: (len(texts), dim)."""
        return self._model("units").encode(texts, self.batch_size)

    def _model(self, role: Role) -> _Model:
        with at_work(), _LOADING.lock:
            if role not in self._loaded:
                source = self._sources[role]
                with loading("encoder", source):
                    self._loaded[role] = _Model(source, role, self.device)
            return self._loaded[role]


class _Model:
    """One side of a dual encoder."""

    def __init__(self, source: str, role: Role, device: str | None) -> None:
        torch = require("torch", extra="models")
        transformers = require("transformers", extra="models")
        config = transformers.AutoConfig.from_pretrained(source)
        self._head: tuple[Any, ...] = ()
        limit = config.max_position_embeddings
        if config.model_type == "dpr":
            expected = _DPR[role]
            if config.architectures and config.architectures != [expected]:
                raise InvalidInputError(
                    f"{source!r:.120} is a {config.architectures[0]}, and {role} are read by a "
                    f"{expected}: give the model for questions first, then the one for texts"
                )
            model = _loaded(getattr(transformers, expected), source)
            self.dim = config.projection_dim or config.hidden_size
        elif config.model_type == "roberta":
            model = _loaded(transformers.RobertaModel, source, add_pooling_layer=False)
            self._head = _read_head(source)
            self.dim = len(self._head[0])
            limit -= _SPECIAL_POSITIONS
        else:
            raise InvalidInputError(
                f"{source!r:.120} is a {config.model_type} model: a dual encoder reads DPR and "
                "ANCE; use SentenceTransformerEncoder for others"
            )
        if device is None:
            device = "cpu"
            if torch.cuda.is_available():
                device = "cuda"
        self._device = device
        self._model = model.to(device).eval()
        self._head = tuple(weight.to(device) for weight in self._head)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(source)
        self._limit = min(limit, self._tokenizer.model_max_length)

    def encode(self, texts: Sequence[str], batch_size: int) -> Vectors:
        """Return float32 vectors. Shape: (len(texts), dim)."""
        torch = require("torch", extra="models")
        vectors = np.zeros((len(texts), self.dim), np.float32)
        order = longest_first(texts, self._tokenizer, self._limit)
        for start in range(0, len(texts), batch_size):
            places = order[start : start + batch_size]
            tokens = self._tokenizer(
                [texts[place] for place in places],
                max_length=self._limit,
                padding=True,
                truncation=True,
                return_tensors="pt",
            ).to(self._device)
            with torch.inference_mode():
                vectors[places] = self._pooled(tokens).float().cpu().numpy()
        return vectors

    def _pooled(self, tokens: Any) -> Any:
        """Return the vectors of texts. Shape: (texts, dim)."""
        output = self._model(input_ids=tokens.input_ids, attention_mask=tokens.attention_mask)
        if not self._head:
            return output.pooler_output
        functional = require("torch.nn.functional", extra="models")
        weight, bias, scale, shift = self._head
        first = functional.linear(output.last_hidden_state[:, 0], weight, bias)
        return functional.layer_norm(first, (self.dim,), scale, shift)


def _loaded(kind: Any, source: str, **options: Any) -> Any:
    """Load a model, and refuse weights that lack a part, which would be drawn by chance."""
    model, report = kind.from_pretrained(source, output_loading_info=True, **options)
    missing = sorted(key for key in report["missing_keys"] if "position_ids" not in key)
    if missing:
        raise InvalidInputError(f"{source!r:.120} lacks weights of {kind.__name__}: {missing[0]}")
    return model


def _read_head(source: str) -> tuple[Any, ...]:
    """Return the weights of ANCE's linear layer and layer normalization."""
    hub = require("transformers.utils", extra="models")
    options = {"_raise_exceptions_for_missing_entries": False}
    weights: dict[str, Any] = {}
    if file := hub.cached_file(source, "model.safetensors", **options):
        weights = require("safetensors.torch", extra="models").load_file(file)
    elif file := hub.cached_file(source, "pytorch_model.bin", **options):
        weights = require("torch", extra="models").load(file, map_location="cpu", weights_only=True)
    by_name = {key.removeprefix("ance_encoder."): value for key, value in weights.items()}
    head = tuple(by_name[key] for key in _HEAD if key in by_name)
    if len(head) != len(_HEAD):
        raise InvalidInputError(
            f"{source!r:.120} is a RoBERTa model without ANCE's layers embeddingHead and norm: use "
            "SentenceTransformerEncoder for it"
        )
    return head
