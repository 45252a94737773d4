"""Devices that PyTorch can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from factoid._optional import require
from factoid.errors import InvalidInputError

if TYPE_CHECKING:
    import torch

# PyTorch raises these errors if it does not know a device, was built without it, or does not find it.
_REFUSALS = (RuntimeError, AssertionError, NotImplementedError, ImportError, TypeError, ValueError, AttributeError)


def usable_device(device: str | int | torch.device | None, *, extra: str) -> torch.device:
    """Return a device that can compute here; None means a GPU if there is one, else the CPU. The extra installs PyTorch.

    Raises:
        InvalidInputError: There is no such device.
    """
    library = require("torch", extra=extra)
    if device is None:
        device = "cuda" if library.cuda.is_available() else "cpu"
    try:
        usable = library.device(device)
        library.zeros(1, device=usable).item()  # on "meta" a tensor can be made, but is empty
    except _REFUSALS as error:
        name = str(device) if isinstance(device, library.device) else device
        devices = ["cpu", *(f"cuda:{index}" for index in range(library.cuda.device_count()))]
        devices += ["mps"] if library.backends.mps.is_available() else []
        raise InvalidInputError(
            f"expected a device that PyTorch can use here ({', '.join(devices)}), got {name!r}"
        ) from error
    return usable  # type: ignore[no-any-return]
