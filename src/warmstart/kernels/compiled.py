"""Just-in-time compilation of loops: on the first call, cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numpy.typing import NDArray

Array = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a loop whose sums may be taken in any order."""
    return cast("Function", numba.njit(nogil=True, fastmath=True, cache=True)(function))


def compiled_in_order(function: Function) -> Function:
    """Compile a loop whose sums are taken as they are written; a product and its sum may be rounded once."""
    return cast("Function", numba.njit(nogil=True, fastmath={"contract"}, cache=True)(function))
