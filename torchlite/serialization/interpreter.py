"""Reading pickles that may hold tensors and plain values, and nothing that runs.

This is no `pickle.Unpickler`: it knows the few opcodes that PyTorch's pickles are made of, names only what `allowed.py`
lists, calls only what `calls.py` lists with arguments that fit, and pays for all of it into the `Bounds` of the file.
"""

from __future__ import annotations

import functools
import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.machine import Tensor
from ..core.values import warn
from ..core.values.device import device
from ..faces.graphs import _DimRange
from ..nn.parameter import Parameter
from ..operations.making.factories import empty
from ..operations.making.legacy_types import TYPES
from ..operations.making.pickles import located
from . import allowed
from .calls import check_of, pay_for_tensor
from .messages import shown

if TYPE_CHECKING:
    from .bounds import Bounds

_MARK = object()
_DAMAGE = (
    IndexError, KeyError, TypeError, ValueError, AttributeError, AssertionError, OverflowError, MemoryError,
    struct.error,
)  # fmt: skip

_TENSOR_TYPES = frozenset((Tensor, *TYPES.values()))
_WHOLE_ONLY = (Parameter, device)  # of which `__new__` alone does not make one

OPCODES: dict[int, tuple[Any, int]] = {}  # what each does, and what it costs at least

_VALUE, _CONTAINER, _SET, _STORAGE = 32, 64, 256, 512  # bytes, about, with a place on the stack


def _op(code: bytes, cost: int = _VALUE) -> Callable[..., Any]:
    def add(f: Callable[..., Any]) -> Any:
        OPCODES[code[0]] = (f, cost)
        return f

    return add


class Interpreter:
    """Reads one pickle from `file`, which has `read`, `readline` and `tell`."""

    def __init__(
        self, file: Any, bounds: Bounds, persistent_load: Callable[[Any], Any], encoding: str = "utf-8"
    ) -> None:
        self.file = file
        self.bounds = bounds
        self.persistent_load = persistent_load
        self.encoding = encoding
        self.users = allowed.users()
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        bounds.read_by(file.tell)

    def load(self) -> Any:
        """The object that the pickle describes."""
        read, pay = self.file.read, self.bounds.pay
        while True:
            code = read(1)
            if not code:
                raise EOFError("Ran out of input")
            if code == b".":
                break
            opcode = OPCODES.get(code[0])
            if opcode is None:
                raise pickle.UnpicklingError(f"Unsupported operand {code[0]}")
            run, cost = opcode
            pay(cost)
            try:
                calls = run(self)
            except _DAMAGE as error:
                raise pickle.UnpicklingError(f"the pickle is damaged ({type(error).__name__}: {error})") from None
            if calls is not None:  # into code of others, whose errors are theirs
                self.stack.append(calls())
        if not self.stack or self.stack[-1] is _MARK:
            raise pickle.UnpicklingError("the pickle is damaged: it ends without a value")
        return self.stack[-1]

    # ---- parts of what the opcodes do

    def take(self, count: int) -> bytes:
        data = self.file.read(count)
        if len(data) < count:
            raise EOFError("Ran out of input")
        return data

    def line(self) -> str:
        line = self.file.readline(1 << 16)
        if not line.endswith(b"\n"):
            raise EOFError("Ran out of input")
        return line[:-1].decode("utf-8")

    def since_mark(self) -> list[Any]:
        """What was put on the stack since the last mark, taken off it."""
        stack = self.stack
        at = len(stack) - 1
        while stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise IndexError("no mark")
        items = stack[at + 1 :]
        del stack[at:]
        return items

    def top(self) -> Any:
        top = self.stack[-1]
        if top is _MARK:
            raise IndexError("a mark where a value is needed")
        return top

    def pop(self) -> Any:
        top = self.top()
        self.stack.pop()
        return top

    def build(self, instance: Any, state: Any) -> Any:
        kind = type(instance)
        if kind is Tensor or kind is Parameter:
            self.set(instance, state)
        elif kind is OrderedDict:
            if not isinstance(state, dict):
                raise TypeError("the attributes of an object must be a dictionary")
            self.bounds.enter(state, instance)
            instance.__dict__.update(state)
        elif kind is _DimRange:
            instance.__setstate__(state)
        elif any(kind is user for user in self.users.values()):
            return functools.partial(_set_state, instance, state)
        else:
            raise pickle.UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{kind}"
            )
        return None

    def store(self, target: Any, items: list[Any]) -> None:
        if type(target) not in (dict, OrderedDict, Counter):
            raise pickle.UnpicklingError(
                "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got " + str(type(target))
            )
        if len(items) % 2:
            raise ValueError("a key without a value")
        self.bounds.enter(items[::2], target)
        for key, value in zip(items[::2], items[1::2]):
            target[key] = value

    def set(self, t: Any, state: Any) -> None:
        """What old files say of a tensor: its storage and geometry."""
        if t._array.size or not isinstance(state, tuple) or len(state) != 4:
            raise pickle.UnpicklingError("the state of a tensor must be its storage, offset, size and stride")
        storage, offset, size, stride = state
        pay_for_tensor(self.bounds, storage, t.dtype, size, stride)
        t.data = located(storage, t.dtype, offset, size, stride)


def _set_state(instance: Any, state: Any) -> Any:
    """Give an instance of a class that the user allows its state, as pickle does; the instance is on the stack."""
    setter = getattr(instance, "__setstate__", None)
    if setter is not None:
        setter(state)
        return instance
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        instance.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(instance, name, value)
    return instance


def present_name(module: str, name: str) -> tuple[str, str]:
    """The module and name of what may have had others in Python 2."""
    return NAME_MAPPING.get((module, name)) or (IMPORT_MAPPING.get(module, module), name)


def global_named(interpreter: Interpreter, module: str, name: str) -> Any:
    """What a pickle may mean by a name."""
    module, name = present_name(module, name)
    full = f"{module}.{name}"
    if module in allowed.BLOCKED_MODULES:
        raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
    try:
        return allowed.lookup(full)
    except KeyError:
        pass
    if full in interpreter.users:
        return interpreter.users[full]
    spelled = name if module == "builtins" else full
    raise pickle.UnpicklingError(
        f"Unsupported global: GLOBAL {spelled} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{spelled}])` or the `torch.serialization.safe_globals([{spelled}])` "
        "context manager to allowlist this global if you trust this class/function."
    )


# ---- opcodes that call


@_op(pickle.GLOBAL)
def _global(self: Interpreter) -> None:
    module = self.line()
    self.stack.append(global_named(self, module, self.line()))


@_op(pickle.NEWOBJ, _STORAGE)
def _newobj(self: Interpreter) -> Any:
    args, cls = self.pop(), self.pop()
    if isinstance(cls, type) and cls in _TENSOR_TYPES:
        if args:
            raise ValueError("a tensor is made of its storage")
        self.stack.append(empty(0, dtype=getattr(cls, "dtype", None)))  # it goes where its storage is, when that is set
    elif isinstance(cls, type) and (check := check_of(cls)) is not None:
        check(self.bounds, args)
        self.stack.append(cls(*args) if cls in _WHOLE_ONLY else cls.__new__(cls, *args))
    elif isinstance(cls, type) and any(cls is user for user in self.users.values()):
        return functools.partial(cls.__new__, cls, *args)
    else:
        raise pickle.UnpicklingError(
            "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
            + shown(cls)
        )
    return None


@_op(pickle.REDUCE)
def _reduce(self: Interpreter) -> Any:
    args, func = self.pop(), self.pop()
    if any(func is user for user in self.users.values()):
        return functools.partial(func, *args)
    check = check_of(func)
    if check is None or not isinstance(args, tuple):
        raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {shown(func)}")
    check(self.bounds, args)
    self.stack.append(func(*args))
    return None


@_op(pickle.BUILD)
def _build(self: Interpreter) -> Any:
    state = self.pop()
    building = self.build(self.top(), state)
    if building is not None:
        self.stack.pop()
    return building


@_op(pickle.BINPERSID, _STORAGE)
def _binpersid(self: Interpreter) -> Any:
    saved_id = self.pop()
    if not isinstance(saved_id, (tuple, int)):
        raise pickle.UnpicklingError(f"persistent_load id must be tuple or int, but got {type(saved_id)}")
    kind = saved_id[0] if isinstance(saved_id, tuple) and saved_id else saved_id
    if not isinstance(kind, (str, bytes)) or kind not in ("storage", b"storage"):
        raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(kind)}")
    return functools.partial(self.persistent_load, saved_id)


# ---- containers


@_op(pickle.APPEND)
def _append(self: Interpreter) -> None:
    item = self.pop()
    target = self.top()
    if type(target) is not list:
        raise pickle.UnpicklingError(f"Can only append to lists, but got {type(target)}")
    target.append(item)


@_op(pickle.APPENDS)
def _appends(self: Interpreter) -> None:
    items = self.since_mark()
    target = self.top()
    if type(target) is not list:
        raise pickle.UnpicklingError(f"Can only extend lists, but got {type(target)}")
    target.extend(items)


@_op(pickle.SETITEM)
def _setitem(self: Interpreter) -> None:
    value, key = self.pop(), self.pop()
    self.store(self.top(), [key, value])


@_op(pickle.SETITEMS)
def _setitems(self: Interpreter) -> None:
    items = self.since_mark()
    self.store(self.top(), items)


# ---- opcodes that put a value on the stack


def _prefixed(self: Interpreter, count: int) -> bytes:
    """Bytes that come after their number, which takes `count` bytes."""
    return self.take(_whole(self, count))


def _whole(self: Interpreter, count: int, signed: bool = False) -> int:
    return int.from_bytes(self.take(count), "little", signed=signed)


def _last(self: Interpreter, count: int) -> tuple[Any, ...]:
    return tuple(reversed([self.pop() for _ in range(count)]))


def _string(self: Interpreter) -> str | bytes:
    data = _prefixed(self, 1)
    return data if self.encoding == "bytes" else data.decode(self.encoding)


_VALUES: tuple[tuple[bytes, int, Callable[[Interpreter], Any]], ...] = (
    (pickle.MARK, _VALUE, lambda self: _MARK),
    (pickle.NONE, _VALUE, lambda self: None),
    (pickle.NEWTRUE, _VALUE, lambda self: True),
    (pickle.NEWFALSE, _VALUE, lambda self: False),
    (pickle.BININT, _VALUE, lambda self: _whole(self, 4, signed=True)),
    (pickle.BININT1, _VALUE, lambda self: _whole(self, 1)),
    (pickle.BININT2, _VALUE, lambda self: _whole(self, 2)),
    (pickle.LONG1, _CONTAINER, lambda self: int.from_bytes(_prefixed(self, 1), "little", signed=True)),
    (pickle.BINFLOAT, _VALUE, lambda self: struct.unpack(">d", self.take(8))[0]),
    (pickle.BINUNICODE, _CONTAINER, lambda self: _prefixed(self, 4).decode("utf-8", "surrogatepass")),
    (pickle.SHORT_BINSTRING, _VALUE, _string),
    (pickle.TUPLE, _CONTAINER, lambda self: tuple(self.since_mark())),
    (pickle.TUPLE1, _CONTAINER, lambda self: _last(self, 1)),
    (pickle.TUPLE2, _CONTAINER, lambda self: _last(self, 2)),
    (pickle.TUPLE3, _CONTAINER, lambda self: _last(self, 3)),
    (pickle.EMPTY_TUPLE, _VALUE, lambda self: ()),
    (pickle.EMPTY_LIST, _CONTAINER, lambda self: []),
    (pickle.EMPTY_DICT, _CONTAINER, lambda self: {}),
    (pickle.EMPTY_SET, _SET, lambda self: set()),
    (pickle.BINGET, _VALUE, lambda self: self.memo[_whole(self, 1)]),
    (pickle.LONG_BINGET, _VALUE, lambda self: self.memo[_whole(self, 4)]),
)


def _putting(value: Callable[[Interpreter], Any]) -> Callable[[Interpreter], None]:
    return lambda self: self.stack.append(value(self))


for _code, _cost, _value in _VALUES:
    _op(_code, _cost)(_putting(_value))


# ---- opcodes that change what is there: the stack, the memo, objects


@_op(pickle.PROTO)
def _proto(self: Interpreter) -> None:
    version = self.take(1)[0]
    if version != 2:
        warn(
            f"Detected pickle protocol {version} in the checkpoint, which was not the default pickle protocol used by "
            "`torch.load` (2). The weights_only Unpickler might not support all instructions implemented by this "
            "protocol, please file an issue for adding support if you encounter this.",
        )


@_op(pickle.BINPUT)
def _binput(self: Interpreter) -> None:
    self.memo[_whole(self, 1)] = self.top()


@_op(pickle.LONG_BINPUT, _CONTAINER)
def _long_binput(self: Interpreter) -> None:
    self.memo[_whole(self, 4)] = self.top()
