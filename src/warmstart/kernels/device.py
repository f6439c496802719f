"""A GPU, if there is one: CuPy, the GPU's memory, and kernels that are compiled when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from warmstart.core import DeviceError, first_lines

DeviceName = Literal["auto", "cpu", "cuda"]
Result = TypeVar("Result")
# "auto" is the CPU: no GPU has run the kernels yet, so that none decides unasked.
DEVICES: tuple[DeviceName, ...] = ("auto", "cpu", "cuda")
ON_CPU = "Learn without it: device='cpu' (--device cpu)."
LESS = "Take fewer weights (weight_bits=, --weight-bits), or device='cpu' (--device cpu)."
# What CuPy says where a driver, a device or the compiler is missing; its errors of CUDA are RuntimeErrors.
_FAILURES = (ImportError, OSError, RuntimeError)


def check_device(device: DeviceName) -> None:
    """Refuse a GPU that is asked for and not there."""
    if device == "cuda":
        gpu()


def either(device: DeviceName, *, on_gpu: Callable[[], Result], on_cpu: Callable[[], Result]) -> Result:
    """Do something on the GPU if that was asked for, else on the CPU."""
    if device != "cuda":
        return on_cpu()
    try:
        return on_gpu()
    except MemoryError as error:
        raise DeviceError("The GPU ran out of memory.", LESS) from error
    except RuntimeError as error:
        # As CuPy's errors of CUDA are; others, of a progress callback for example, are no fault of the GPU.
        if not type(error).__module__.startswith("cupy"):
            raise
        raise DeviceError(f"The GPU failed: {first_lines(error)}.", ON_CPU) from error


def gpu() -> Any:
    """Return CuPy, if it finds a GPU."""
    if find_spec("cupy") is None:
        raise DeviceError("A GPU was asked for, and CuPy is not installed.", f"pip install 'warmstart[gpu]'. {ON_CPU}")
    try:
        import cupy

        result = cupy.cuda.runtime.getDeviceCount()
    except _FAILURES as error:
        raise DeviceError(f"A GPU was asked for, and CuPy finds none: {first_lines(error)}.", ON_CPU) from error
    if not result:
        raise DeviceError("A GPU was asked for, and CuPy finds none.", ON_CPU)
    return cupy


@cache
def kernel(file: str, name: str, **sizes: int) -> Any:
    """Return a kernel of one of the files beside this one, compiled with these sizes."""
    cupy, source = gpu(), Path(__file__).with_name(f"{file}.cu").read_text()
    options = ("--std=c++17", *(f"-D{size}={number}" for size, number in sizes.items()))
    try:
        return cupy.RawModule(code=source, options=options).get_function(name)
    except (*_FAILURES, cupy.cuda.compiler.CompileException) as error:
        raise DeviceError(f"CuPy cannot compile for the GPU: {first_lines(error)}.", ON_CPU) from error


def check_gpu_memory(needed: int, what: str, hint: str) -> None:
    """Refuse to allocate more bytes than are free on the GPU."""
    cupy = gpu()
    cupy.get_default_memory_pool().free_all_blocks()
    free, _ = cupy.cuda.runtime.memGetInfo()
    if needed > free:
        raise DeviceError(f"{what} take {needed / 1e9:.1f} GB of the GPU, and {free / 1e9:.1f} GB are free.", hint)


def to_gpu(arrays: Sequence[NDArray[Any]], dtypes: Sequence[type[np.generic]]) -> tuple[Any, ...]:
    """Copy arrays to the GPU, as these types."""
    cupy = gpu()
    return tuple(
        cupy.asarray(np.ascontiguousarray(array, dtype=dtype)) for array, dtype in zip(arrays, dtypes, strict=True)
    )
