"""Engines for seq2seq propositionizers, and the choice between them."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from factoid._optional import require
from factoid.devices import usable_device
from factoid.errors import InvalidInputError

if TYPE_CHECKING:
    from factoid.propositions.engines.batching import Engine
    from factoid.propositions.engines.checkpoint import Checkpoint

logger = logging.getLogger(__name__)

EngineName = Literal["auto", "transformers", "ctranslate2"]
_DTYPES = ("float32", "bfloat16", "float16", "int8")


class Choice(NamedTuple):
    """An engine with its device and dtype."""

    engine: str
    device: str
    dtype: str

    @property
    def suffix(self) -> str:
        """The suffix of a propositionizer's name: empty for float32, in which all engines agree."""
        return {"float32": "", "int8": f"{self.engine}-int8"}.get(self.dtype, self.dtype)


def check_choice(engine: str, dtype: Any) -> None:
    """Raise InvalidInputError for an unknown engine or dtype."""
    if engine not in get_args(EngineName):
        raise InvalidInputError(f"engine must be one of {', '.join(get_args(EngineName))}, got {engine!r}")
    if dtype is not None and _name(dtype) not in _DTYPES:
        raise InvalidInputError(f"dtype must be one of {', '.join(_DTYPES)}, got {dtype!r}")


def choose(engine: str, device: Any, dtype: Any) -> Choice:
    """Choose what the caller left open, by the installed packages and the machine.

    Raises:
        InvalidInputError: The engine does not offer this choice.
        MissingDependencyError: The engine is not installed.
    """
    device = str(device) if device is not None else _first_device(engine)
    kind = device.partition(":")[0]
    if engine == "auto":
        # Measured in docs/engines.md: bfloat16 with drafts is faster than eight bits if the CPU multiplies in it.
        is_slow = kind == "cpu" and (dtype is not None or not _multiplies_bfloat16())
        engine = "ctranslate2" if is_slow and find_spec("ctranslate2") else "transformers"
    if engine == "ctranslate2":
        require("ctranslate2", extra="fast")
        if kind not in {"cpu", "cuda"}:
            raise InvalidInputError(f"the ctranslate2 engine runs on cpu and cuda, got device={device!r}")
    elif dtype is not None and _name(dtype) == "int8":
        raise InvalidInputError('dtype="int8" needs engine="ctranslate2"')
    return Choice(engine, device, _fastest_dtype(engine, device) if dtype is None else _name(dtype))


def load(choice: Choice, checkpoint: Checkpoint, *, copy: bool, may_change: bool) -> Engine:
    """Load a checkpoint; with `may_change`, transformers runs a model that ctranslate2 cannot."""
    if choice.engine == "ctranslate2":
        from factoid.propositions.engines.ctranslate2_engine import SUPPORTED, CTranslate2Engine

        if not may_change or (kind := checkpoint.config().model_type) in SUPPORTED:
            float_type = {"cpu": "float32", "cuda": "float16"}[choice.device.partition(":")[0]]
            compute_type = f"int8_{float_type}" if choice.dtype == "int8" else choice.dtype
            return CTranslate2Engine(checkpoint, device=choice.device, compute_type=compute_type)
        logger.info("%s is %s, which the ctranslate2 engine does not run", checkpoint.name, kind)
        choice = choose("transformers", choice.device, None if choice.dtype == "int8" else choice.dtype)
    device = usable_device(choice.device, extra="models")
    from factoid.propositions.engines.torch_engine import TorchEngine

    return TorchEngine(checkpoint, device=device, dtype=choice.dtype, copy=copy)


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _first_device(engine: str) -> str:
    if engine == "ctranslate2":
        return "cuda" if require("ctranslate2", extra="fast").get_cuda_device_count() else "cpu"
    torch = require("torch", extra="models")
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


def _fastest_dtype(engine: str, device: str) -> str:
    if engine == "ctranslate2":
        return "int8" if device.startswith("cpu") else "float16"
    kind = usable_device(device, extra="models").type
    if kind == "cuda":
        capability = require("torch", extra="models").cuda.get_device_capability(device)
        return "bfloat16" if capability >= (8, 0) else "float16"
    return "bfloat16" if kind == "cpu" and _multiplies_bfloat16() else "float32"


def _multiplies_bfloat16() -> bool:
    """Return whether the CPU has AMX, with which bfloat16 is several times as fast as float32; without, it may be slower."""
    probe = getattr(require("torch", extra="models").cpu, "_is_amx_tile_supported", None)  # no public API yet
    return probe is not None and bool(probe())
