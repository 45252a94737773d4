"""Products of vectors, without spurious warnings."""

from __future__ import annotations

from typing import Any

import numpy as np

from factoid.forks import at_work


def products(left: Any, right: Any) -> Any:
    """Return `left @ right`, for arrays of floating-point numbers.

    The kernels of some BLAS builds also compute on unused register lanes. Their contents may set
    the processor's flags for invalid results and overflow, which NumPy then occasionally reports as
    a warning.
    """
    # OpenBLAS has threads: a fork while one of them multiplies would stop the parent, too.
    with at_work(), np.errstate(all="ignore"):
        return left @ right
