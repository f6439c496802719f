"""A GPU is used where it is asked for, and nowhere else; what goes wrong on it is a DeviceError."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.conftest import need

import warmstart as ws
from warmstart.kernels import check_device, device, either


def not_here():
    raise AssertionError("The GPU was not asked for.")


@pytest.mark.parametrize("name", ["auto", "cpu"])
def test_nothing_runs_on_a_gpu_that_was_not_asked_for(name):
    check_device(name)
    assert either(name, on_gpu=not_here, on_cpu=lambda: "cpu") == "cpu"


def test_without_cupy_a_gpu_that_is_asked_for_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(device, "find_spec", {}.get)
    with pytest.raises(ws.DeviceError, match=r"CuPy is not installed. pip install 'warmstart\[gpu\]'"):
        check_device("cuda")


def raising(error):
    def work():
        raise error

    return work


# CuPy's errors are of modules that begin so.
OF_CUDA = type("CUDARuntimeError", (RuntimeError,), {"__module__": "cupy_backends.cuda.api.runtime"})


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OF_CUDA("cudaErrorIllegalAddress: an illegal memory access\nmore"), "The GPU failed: cudaErrorIllegalAddress"),
        (MemoryError("out of memory"), "The GPU ran out of memory. Take fewer weights"),
        (ws.DeviceError("CuPy finds none."), "CuPy finds none."),
    ],
)
def test_what_fails_on_the_gpu_is_a_device_error(error, message):
    with pytest.raises(ws.DeviceError, match=message):
        either("cuda", on_gpu=raising(error), on_cpu=not_here)


def test_what_a_callback_raises_is_not_blamed_on_the_gpu():
    with pytest.raises(RuntimeError, match="of the caller's own") as raised:
        either("cuda", on_gpu=raising(RuntimeError("of the caller's own")), on_cpu=not_here)
    assert raised.type is RuntimeError


@pytest.mark.slow
@pytest.mark.parametrize(("file", "size"), [("best", "CONTEXTS"), ("product", "LANES")])
def test_the_kernels_compile(file, size, tmp_path):
    need("nvcc", present=shutil.which("nvcc") is not None)
    source = Path(device.__file__).with_name(f"{file}.cu")
    for number in (1, 2, 4):
        options = ["-std=c++17", "-arch=sm_90", "-Werror", "all-warnings", f"-D{size}={number}", "-cubin"]
        subprocess.run(["nvcc", *options, "-o", tmp_path / "kernel", source], check=True)
