"""Prefetch memory: a large table of weights is otherwise waited for, cache line by cache line."""

from __future__ import annotations

from typing import Any

from numba.core import config
from numba.extending import intrinsic

_READ, _SECOND_LEVEL, _DATA = 0, 2, 1


def _prefetch(_: Any, array: Any, __: Any) -> Any:
    """Load an element's line into the second-level cache, where more requests may be open than in the first."""
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba import types

    def generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        elements = context.make_array(signature.args[0])(context, builder, arguments[0])
        number = ir.IntType(32)
        address = builder.bitcast(builder.gep(elements.data, [arguments[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(instruction, [address, number(_READ), number(_SECOND_LEVEL), number(_DATA)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generated


def _no_prefetch(*_: Any) -> None:
    """Do nothing, where loops are not compiled."""


prefetch: Any = _no_prefetch if config.DISABLE_JIT else intrinsic(_prefetch)  # type: ignore[attr-defined]
