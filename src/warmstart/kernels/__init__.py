"""Arrays in, arrays out: the loops that no library does well. The only room with Numba and CuPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmstart.core import Door

if TYPE_CHECKING:
    from warmstart.kernels.best import *  # noqa: F403
    from warmstart.kernels.columns import *  # noqa: F403
    from warmstart.kernels.cuda_best import *  # noqa: F403
    from warmstart.kernels.cuda_product import *  # noqa: F403
    from warmstart.kernels.device import *  # noqa: F403
    from warmstart.kernels.product import *  # noqa: F403
    from warmstart.kernels.sweep import *  # noqa: F403

_door = Door.to(
    __name__,
    {
        "best": "best_of_all",
        "columns": "pack_columns",
        "cuda_best": "best_of_all_on_gpu",
        "cuda_product": "ProductsOnGpu predict_on_gpu stable_in_flight",
        "device": "DEVICES DeviceName check_device either",
        "product": "LOGISTIC SQUARED predict step_size train",
        "sweep": "CellsInOrder DailySweep Traffic whole_contexts",
    },
)
__all__ = [*_door.homes]  # noqa: PLE0604
__getattr__ = _door.resolve
