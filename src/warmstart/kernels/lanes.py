"""Lanes: a few singles that are worked on at once (SIMD), and that stay in registers where an array would not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import config
from numba.extending import intrinsic, models, register_model

# One multiplication and the addition that follows may be rounded together; sums are taken as they are written.
_FUSED = ("contract",)
_WORD = ir.IntType(32)


class Lanes(types.Type):
    """The type of so many singles."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(name=f"Lanes({size})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Any) -> None:
        super().__init__(manager, lanes, ir.VectorType(ir.FloatType(), lanes.size))  # type: ignore[no-untyped-call]


def _zeros(_: Any, numbers: Any) -> Any:
    """Return a zero for every entry of a tuple."""
    lanes = Lanes(len(numbers))
    return lanes(numbers), lambda context, *_: context.get_constant_null(lanes)


def _load(_: Any, array: Any, __: Any, like: Any) -> Any:
    """Return the elements of an array from an index on, as many as others have lanes."""

    def generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature, arguments), align=4)

    return like(array, types.intp, like), generated


def _store(_: Any, array: Any, __: Any, lanes: Any) -> Any:
    """Write lanes into an array from an index on."""

    def generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, signature, arguments), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generated


def _add_scaled(_: Any, lanes: Any, __: Any, others: Any) -> Any:
    """Return lanes with a multiple of others added."""

    def generated(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        to, factor, scaled = arguments
        product = builder.fmul(_repeated(builder, factor, scaled.type), scaled, flags=_FUSED)
        return builder.fadd(to, product, flags=_FUSED)

    return lanes(lanes, types.float32, others), generated


def _any_above(_: Any, lanes: Any, __: Any, bounds: Any) -> Any:
    """Return whether a multiple of any lane is above its bound."""

    def generated(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        ours, factor, theirs = arguments
        product = builder.fmul(ours, _repeated(builder, factor, ours.type))
        bits = ir.IntType(lanes.size)
        above = builder.bitcast(builder.fcmp_ordered(">", product, theirs), bits)
        return builder.icmp_unsigned("!=", above, ir.Constant(bits, 0))

    return types.boolean(lanes, types.float32, bounds), generated


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return where lanes begin in an array: the arguments are the array, an index and lanes."""
    elements = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(elements.data, [arguments[1]]), arguments[2].type.as_pointer())


def _repeated(builder: Any, number: Any, kind: Any) -> Any:
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(_WORD, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_WORD, kind.count), [0] * kind.count))


def _store_plain(array: Any, index: int, lanes: Any) -> None:
    array[index : index + len(lanes)] = lanes


# The same over arrays, where loops are not compiled.
_PLAIN: dict[Callable[..., Any], Callable[..., Any]] = {
    _zeros: lambda numbers: np.zeros(len(numbers), dtype=np.float32),
    _load: lambda array, index, like: array[index : index + len(like)].copy(),
    _store: _store_plain,
    _add_scaled: lambda lanes, factor, others: lanes + factor * others,
    _any_above: lambda lanes, factor, bounds: bool((lanes * factor > bounds).any()),
}


def _made(generate: Callable[..., Any]) -> Any:
    return _PLAIN[generate] if config.DISABLE_JIT else intrinsic(generate)  # type: ignore[attr-defined]


zeros, load, store = _made(_zeros), _made(_load), _made(_store)
add_scaled, any_above = _made(_add_scaled), _made(_any_above)
