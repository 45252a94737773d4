"""Products of vectors, without warnings about numbers that are in none of them."""

from __future__ import annotations

from typing import Any

import numpy as np


def products(left: Any, right: Any) -> Any:
    """Return `left @ right`, for arrays of floating-point numbers.

    The kernels of some BLAS builds also compute on the unused lanes of their registers, and whatever lies there may set the
    processor's flags of invalid results and of overflow, which NumPy then reports as a warning, now and then.
    """
    with np.errstate(all="ignore"):
        return left @ right
