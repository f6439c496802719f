"""Ask for memory ahead of its use: a large table of weights is otherwise waited for, line by line."""

from __future__ import annotations

from typing import Any

from numba.core import config
from numba.extending import intrinsic

_READ, _SECOND_LEVEL, _DATA = 0, 2, 1


def _asked_for(_: Any, array: Any, __: Any) -> Any:
    """Bring an element's line to the second level of the cache: more requests may be open there than at the first."""
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


def _nothing(*_: Any) -> None:
    """Stand in where loops are not compiled."""


prefetch: Any = _nothing if config.DISABLE_JIT else intrinsic(_asked_for)  # type: ignore[attr-defined]
