"""Reading pickles that may hold tensors and plain values, and nothing that runs.

This is no `pickle.Unpickler`: it knows the few opcodes that PyTorch's pickles are made of, calls only what
`allowed.py` lists and only with arguments that fit, and allocates no more than the file justifies.
"""

from __future__ import annotations

import functools
import pickle
import pickletools
import struct
import warnings
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor
from ..nn.parameter import Parameter
from ..ops.create import empty
from ..ops.legacy import TYPES
from ..ops.pickles import located
from . import allowed

if TYPE_CHECKING:
    from collections.abc import Callable

_COPIED = 1 << 20  # bytes and items that calls may copy in any file; more in one that is itself larger
_DEEPEST_KEY = 100  # of tuples in tuples that are to be keys: hashing them recurses

_MARK = object()
_DAMAGE = (
    IndexError, KeyError, TypeError, ValueError, AttributeError, AssertionError, OverflowError, MemoryError,
    struct.error,
)  # fmt: skip

_TENSOR_TYPES = frozenset((Tensor, *TYPES.values()))

_OPS: dict[int, Any] = {}


def _op(code: bytes) -> Any:
    def add(f: Any) -> Any:
        _OPS[code[0]] = f
        return f

    return add


class Interpreter:
    """Reads one pickle from `file`, which has `read` and `readline`; `size` is how long a file it is part of."""

    def __init__(self, file: Any, size: int, persistent_load: Callable[[Any], Any], encoding: str = "utf-8") -> None:
        self.file = file
        self.persistent_load = persistent_load
        self.encoding = encoding
        self.budget = _COPIED + 4 * size
        self.users = allowed.users()
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The object that the pickle describes."""
        read = self.file.read
        while True:
            code = read(1)
            if not code:
                raise EOFError("Ran out of input")
            if code == b".":
                break
            run = _OPS.get(code[0])
            if run is None:
                raise pickle.UnpicklingError(f"Unsupported operand {code[0]}")
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

    def pop(self) -> Any:
        top = self.stack.pop()
        if top is _MARK:
            raise IndexError("a mark where a value is needed")
        return top

    def top(self) -> Any:
        return self.stack[-1]

    def spend(self, size: int) -> None:
        self.budget -= size
        if self.budget < 0:
            raise pickle.UnpicklingError("the pickle makes more copies than its size justifies")

    def build(self, instance: Any, state: Any) -> Any:
        kind = type(instance)
        if kind is Tensor or kind is Parameter:
            _set(instance, state)
        elif kind is OrderedDict:
            self.spend(len(state))
            instance.__dict__.update(state)
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
        for key, value in zip(items[::2], items[1::2]):
            if key.__class__ is tuple:
                _check_depth(key)
            target[key] = value


def _set(t: Any, state: Any) -> None:
    """What old files say of a tensor: its storage and geometry."""
    if t.array.size or not isinstance(state, tuple) or len(state) != 4:
        raise pickle.UnpicklingError("the state of a tensor must be its storage, offset, size and stride")
    t.data = located(state[0], t.dtype, *state[1:])


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


def _check_depth(key: tuple[Any, ...]) -> None:
    level = [key]
    for _ in range(_DEEPEST_KEY):
        level = [item for outer in level for item in outer if item.__class__ is tuple]
        if not level:
            return
        if len(level) > 1 << 16:
            break
    raise ValueError("a key of tuples in tuples in tuples")


def global_named(interpreter: Interpreter, module: str, name: str) -> Any:
    """What a pickle may mean by a name."""
    if (module, name) in NAME_MAPPING:
        module, name = NAME_MAPPING[module, name]
    elif module in IMPORT_MAPPING:
        module = IMPORT_MAPPING[module]
    full = f"{module}.{name}"
    if module in allowed.BLOCKED_MODULES:
        raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
    try:
        return allowed.lookup(full)
    except KeyError:
        pass
    if full in interpreter.users:
        return interpreter.users[full]
    shown = name if module == "builtins" else full
    raise pickle.UnpicklingError(
        f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{shown}])` or the `torch.serialization.safe_globals([{shown}])` "
        "context manager to allowlist this global if you trust this class/function."
    )


# ---- opcodes that call


@_op(pickle.GLOBAL)
def _global(self: Interpreter) -> None:
    module = self.line()
    self.stack.append(global_named(self, module, self.line()))


@_op(pickle.NEWOBJ)
def _newobj(self: Interpreter) -> Any:
    args, cls = self.pop(), self.pop()
    if cls is Parameter:
        allowed.CHECKS[Parameter](args)
        self.stack.append(Parameter(*args))
    elif isinstance(cls, type) and cls in _TENSOR_TYPES:
        if args:
            raise ValueError("a tensor is made of its storage")
        self.stack.append(empty(0, dtype=getattr(cls, "dtype", None)))  # it goes where its storage is, when that is set
    elif isinstance(cls, type) and cls in allowed.CHECKS:
        self.spend(allowed.CHECKS[cls](args))
        self.stack.append(cls(*args))
    elif isinstance(cls, type) and any(cls is user for user in self.users.values()):
        return functools.partial(cls.__new__, cls, *args)
    else:
        raise pickle.UnpicklingError(
            f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got {cls}"
        )
    return None


@_op(pickle.REDUCE)
def _reduce(self: Interpreter) -> Any:
    args, func = self.pop(), self.pop()
    if any(func is user for user in self.users.values()):
        return functools.partial(func, *args)
    try:
        check = allowed.CHECKS.get(func)
    except TypeError:  # not even hashable
        check = None
    if check is None or not isinstance(args, tuple):
        raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {func}")
    self.spend(check(args))
    if func is set:
        for item in args[0] if args else ():
            if item.__class__ is tuple:
                _check_depth(item)
    self.stack.append(func(*args))
    return None


@_op(pickle.BUILD)
def _build(self: Interpreter) -> Any:
    state = self.pop()
    building = self.build(self.top(), state)
    if building is not None:
        self.stack.pop()
    return building


@_op(pickle.BINPERSID)
def _binpersid(self: Interpreter) -> Any:
    saved_id = self.pop()
    if not isinstance(saved_id, (tuple, int)):
        raise pickle.UnpicklingError(f"persistent_load id must be tuple or int, but got {type(saved_id)}")
    kind = saved_id[0] if isinstance(saved_id, tuple) and saved_id else saved_id
    if kind not in ("storage", b"storage"):
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


@_op(pickle.MARK)
def _mark(self: Interpreter) -> None:
    self.stack.append(_MARK)


@_op(pickle.TUPLE)
def _tuple(self: Interpreter) -> None:
    self.stack.append(tuple(self.since_mark()))


@_op(pickle.TUPLE1)
def _tuple1(self: Interpreter) -> None:
    self.stack.append((self.pop(),))


@_op(pickle.TUPLE2)
def _tuple2(self: Interpreter) -> None:
    b, a = self.pop(), self.pop()
    self.stack.append((a, b))


@_op(pickle.TUPLE3)
def _tuple3(self: Interpreter) -> None:
    c, b, a = self.pop(), self.pop(), self.pop()
    self.stack.append((a, b, c))


@_op(pickle.EMPTY_TUPLE)
def _empty_tuple(self: Interpreter) -> None:
    self.stack.append(())


@_op(pickle.EMPTY_LIST)
def _empty_list(self: Interpreter) -> None:
    self.stack.append([])


@_op(pickle.EMPTY_DICT)
def _empty_dict(self: Interpreter) -> None:
    self.stack.append({})


@_op(pickle.EMPTY_SET)
def _empty_set(self: Interpreter) -> None:
    self.stack.append(set())


# ---- plain values


@_op(pickle.PROTO)
def _proto(self: Interpreter) -> None:
    version = self.take(1)[0]
    if version != 2:
        warnings.warn(
            f"Detected pickle protocol {version} in the checkpoint, which was not the default pickle protocol used by "
            "`torch.load` (2). The weights_only Unpickler might not support all instructions implemented by this "
            "protocol, please file an issue for adding support if you encounter this.",
            stacklevel=2,
        )


@_op(pickle.NONE)
def _none(self: Interpreter) -> None:
    self.stack.append(None)


@_op(pickle.NEWTRUE)
def _newtrue(self: Interpreter) -> None:
    self.stack.append(True)


@_op(pickle.NEWFALSE)
def _newfalse(self: Interpreter) -> None:
    self.stack.append(False)


@_op(pickle.BININT)
def _binint(self: Interpreter) -> None:
    self.stack.append(int.from_bytes(self.take(4), "little", signed=True))


@_op(pickle.BININT1)
def _binint1(self: Interpreter) -> None:
    self.stack.append(self.take(1)[0])


@_op(pickle.BININT2)
def _binint2(self: Interpreter) -> None:
    self.stack.append(int.from_bytes(self.take(2), "little"))


@_op(pickle.LONG1)
def _long1(self: Interpreter) -> None:
    self.stack.append(int.from_bytes(self.take(self.take(1)[0]), "little", signed=True))


@_op(pickle.BINFLOAT)
def _binfloat(self: Interpreter) -> None:
    self.stack.append(struct.unpack(">d", self.take(8))[0])


@_op(pickle.BINUNICODE)
def _binunicode(self: Interpreter) -> None:
    self.stack.append(self.take(int.from_bytes(self.take(4), "little")).decode("utf-8", "surrogatepass"))


@_op(pickle.SHORT_BINSTRING)
def _short_binstring(self: Interpreter) -> None:
    data = self.take(self.take(1)[0])
    self.stack.append(data if self.encoding == "bytes" else data.decode(self.encoding))


# ---- the memo


@_op(pickle.BINGET)
def _binget(self: Interpreter) -> None:
    self.stack.append(self.memo[self.take(1)[0]])


@_op(pickle.LONG_BINGET)
def _long_binget(self: Interpreter) -> None:
    self.stack.append(self.memo[int.from_bytes(self.take(4), "little")])


@_op(pickle.BINPUT)
def _binput(self: Interpreter) -> None:
    self.memo[self.take(1)[0]] = self.top()


@_op(pickle.LONG_BINPUT)
def _long_binput(self: Interpreter) -> None:
    self.memo[int.from_bytes(self.take(4), "little")] = self.top()


# ---- looking without loading


def names_in(data: bytes) -> set[str]:
    """The full names of all that a pickle names."""
    found, texts = set(), []
    for op, argument, _ in pickletools.genops(data):
        if op.name in ("GLOBAL", "INST"):
            module, _, name = str(argument).partition(" ")
        elif op.name == "STACK_GLOBAL":
            module, name = texts[-2:]
        else:
            if isinstance(argument, str):
                texts.append(argument)
            elif op.name in _UNSUPPORTED:
                raise pickle.UnpicklingError(f"Unsupported operand {op.code.encode('latin-1')[0]}")
            continue
        if (module, name) in NAME_MAPPING:
            module, name = NAME_MAPPING[module, name]
        found.add(f"{IMPORT_MAPPING.get(module, module)}.{name}")
    return found


_UNSUPPORTED = frozenset(
    op.name for op in pickletools.opcodes if op.code.encode("latin-1")[0] not in {**_OPS, 46: None}
)


def not_allowed(names: set[str]) -> list[str]:
    """Those of some names that `torch.load` would not take with `weights_only=True`."""
    users = allowed.users()
    return sorted(
        name
        for name in names
        if name.rpartition(".")[0] in allowed.BLOCKED_MODULES or (name not in users and name not in allowed.names())
    )
