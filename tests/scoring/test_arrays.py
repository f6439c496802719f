"""Arrays of saved policies, whatever their kind of model: each is refused with its name if it is not as declared."""

import numpy as np
import pytest
from tests.support.saved_policies import about, copied, sign, small_policy

import warmstart as ws
from warmstart.scoring import ACTION_ARRAYS, KINDS, key_arrays


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return ws.save_policy(small_policy(), tmp_path_factory.mktemp("saved") / "policy")


@pytest.fixture
def folder(saved, tmp_path):
    return copied(saved, tmp_path / "policy")


ARRAYS = {**KINDS["product"].arrays, **ACTION_ARRAYS, **key_arrays("int64")}
SPECS = {spec.file: spec for spec in ARRAYS.values()}
anywhere = pytest.mark.parametrize("file", sorted(SPECS))


def refused(folder, file, array=None, **options):
    if array is not None:
        np.save(folder / file, array, **options)
    with pytest.raises(ws.SavedFileError) as error:
        ws.load_policy(sign(folder))
    assert ".npy: " in str(error.value)
    return str(error.value)


def test_every_array_of_the_folder_is_declared(saved):
    assert {file for file in about(saved)["files"] if file.endswith(".npy")} == set(SPECS)


@anywhere
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64", "uint32", ">f4", ">i8", "bool"])
def test_another_dtype_is_refused(folder, file, dtype):
    if np.dtype(dtype) != np.dtype(SPECS[file].dtype):
        said = refused(folder, file, np.load(folder / file).astype(dtype))
        assert said.startswith(f"{file}: has the dtype {np.dtype(dtype).str}, not {np.dtype(SPECS[file].dtype).str}")


@anywhere
def test_another_shape_is_refused(folder, file):
    array = np.load(folder / file)
    for other in (array[:-1], np.append(array, array[-1:]), array[:0], array.reshape(-1, 1), np.array(array[0])):
        # A shorter array that comes first is a wrong length of the next.
        assert "has" in refused(folder, file, other.astype(array.dtype)) or file in (
            "action_buckets.npy",
            "action_keys.npy",
        )


@anywhere
def test_fortran_order_and_pickles_are_refused(folder, file, tmp_path):
    array, flag = np.load(folder / file), tmp_path / "ran"

    class Bad:
        def __reduce__(self):
            return (flag.write_text, ("code ran",))

    table = np.asfortranarray(np.stack([array, array]))
    assert refused(folder, file, table).startswith(f"{file}: is not in C order")
    objects = np.array([Bad()] * len(array), dtype=object)
    assert refused(folder, file, objects, allow_pickle=True).startswith(f"{file}: has the dtype |O, not")
    records = np.zeros(len(array), dtype=[("a", array.dtype)])
    assert refused(folder, file, records).startswith(f"{file}: is no array")
    assert not flag.exists()


@anywhere
def test_a_changed_header_is_an_error_or_changes_nothing(folder, saved, file):
    whole, rng = (saved / file).read_bytes(), np.random.default_rng(3)
    for place in range(128):
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        (folder / file).write_bytes(changed)
        assert refused(folder, file).startswith(f"{file}: ")
    for length in (0, 1, 6, 9, 60, 128, len(whole) - 1):
        (folder / file).write_bytes(whole[:length])
        assert refused(folder, file).startswith(f"{file}: ")


@pytest.mark.parametrize("file", sorted({*SPECS} - {"action_keys.npy"}))
def test_values_out_of_range_are_refused(folder, file):
    spec, array = SPECS[file], np.load(folder / file)
    wrong = {np.nan, np.inf, -np.inf} if array.dtype.kind == "f" else set()
    wrong |= {2.0 * value for value in (spec.least, spec.most) if np.isfinite(value) and value}
    wrong |= {-1.0} if spec.least == 0 else set()
    wrong |= {0.0, -1.0} if spec.positive else set()
    wrong |= {1 << 20} if spec.below or spec.offsets_to else set()
    wrong |= {-1} if array.dtype.kind == "i" else set()
    assert wrong
    for value in wrong:
        for place in (0, len(array) // 2, len(array) - 1):
            changed = array.copy()
            changed[place] = value
            assert refused(folder, file, changed).startswith(f"{file}: ")


@pytest.mark.parametrize("file", [file for file, spec in SPECS.items() if spec.offsets_to])
def test_offsets_that_decrease_or_do_not_fit_are_refused(folder, file):
    offsets = np.load(folder / file)
    swapped = offsets.copy()
    swapped[1], swapped[2] = offsets[2], offsets[1]
    assert "offsets must not decrease" in refused(folder, file, swapped)
    assert "offsets must start at 0" in refused(folder, file, np.maximum(offsets, 1))
    assert "offsets must end at" in refused(folder, file, np.minimum(offsets, offsets[-1] - 1))
    moved = offsets.copy()
    moved[1] += 1
    assert "action_squares.npy: values must be the sums" in refused(folder, file, moved)
