"""Engines for seq2seq propositionizers, and the choice between them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from factoid._optional import require
from factoid.errors import InvalidInputError

if TYPE_CHECKING:
    from factoid.propositions.engines.batching import Engine
    from factoid.propositions.engines.checkpoint import Checkpoint

EngineName = Literal["auto", "transformers", "ctranslate2"]
_FLOATS = ("float32", "bfloat16", "float16")
_DTYPES = {"transformers": _FLOATS, "ctranslate2": (*_FLOATS, "int8")}


def choose(engine: str, device: Any, dtype: Any) -> tuple[str, str, str]:
    """Return engine, device and dtype.

    What the caller left open, by the installed packages and the machine.

    Raises:
        InvalidInputError: There is no such engine or device, or the engine does not compute in this
            dtype.
    """
    torch = require("torch", extra="models")
    device = usable_device(device)
    is_cpu = device.type == "cpu"
    is_cuda = device.type == "cuda"
    has_amx = getattr(torch.cpu, "_is_amx_tile_supported", bool)()  # no public API yet
    # in bfloat16
    is_fast = has_amx if is_cpu else is_cuda and torch.cuda.get_device_capability(device) >= (8, 0)
    if engine == "auto":
        # Measured in docs/engines.md: bfloat16 with drafts is faster than eight bits if the CPU
        # multiplies in it.
        wants_int8 = is_cpu and find_spec("ctranslate2") and not is_fast
        engine = "ctranslate2" if wants_int8 or dtype == "int8" else "transformers"
    if dtype is None and engine == "ctranslate2":
        dtype = "int8" if is_cpu else "float16"
    elif dtype is None:
        if is_fast:
            dtype = "bfloat16"
        else:
            dtype = "float16" if is_cuda else "float32"
    name = str(dtype).removeprefix("torch.")
    if name not in _DTYPES.get(engine, ()):
        raise InvalidInputError(
            f"expected an engine and one of its dtypes, {_DTYPES}, got {engine!r} and {name!r}"
        )
    return engine, str(device), name


def usable_device(device: Any) -> Any:
    """Return the `torch.device` to compute on; None means a GPU if there is one, else the CPU.

    Raises:
        InvalidInputError: There is no such device.
    """
    torch = require("torch", extra="models")
    if device is None:
        if torch.cuda.is_available():
            device = "cuda"
        else:
            device = "cpu"
            if torch.backends.mps.is_available():
                device = "mps"
    try:
        usable = torch.device(device)
        torch.zeros(1, device=usable).item()  # on "meta" a tensor can be made, but is empty
    except Exception as error:
        # of six types, if PyTorch was built without a device, or does not find it
        raise InvalidInputError(
            f"PyTorch cannot use the device {device!r}: {str(error).splitlines()[0]}"
        ) from error
    return usable


def load(
    checkpoint: Checkpoint, engine: str, device: str, dtype: str, *, copy: bool | None
) -> Engine:
    """Load a checkpoint into the chosen engine."""
    if engine == "ctranslate2":
        from factoid.propositions.engines.ctranslate2_engine import CTranslate2Engine

        return CTranslate2Engine(checkpoint, device=device, dtype=dtype)
    from factoid.propositions.engines.torch_engine import TorchEngine

    return TorchEngine(checkpoint, device=device, dtype=dtype, copy=copy)
