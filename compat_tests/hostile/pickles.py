"""Pickles that ask for what no file may have: code, depth, work, memory, tensors outside of their storages."""

from __future__ import annotations

import struct

from compat_tests.hostile.assembling import (
    call,
    checkpoint,
    listed,
    mapping,
    name,
    new,
    number,
    real,
    several,
    storage,
    tensor,
    text,
)

EVIL = text("touch evil")

# ---- names: whatever is not on the list is refused before it is looked for

NAMES = (
    "os.system", "posix.system", "nt.system", "os.execv", "os.path.os.system", "sys.exit", "sys.modules",
    "subprocess.Popen", "commands.getoutput", "builtins.eval", "__builtin__.eval", "builtins.exec", "builtins.compile",
    "builtins.open", "builtins.__import__", "builtins.getattr", "builtins.breakpoint", "builtins.type",
    "builtins.object", "builtins.set.update", "importlib.import_module", "runpy.run_path", "pickle.loads",
    "_pickle.loads", "marshal.loads", "ctypes.CDLL", "socket.create_connection", "shutil.rmtree", "webbrowser.open",
    "code.interact", "functools.partial", "functools.reduce", "operator.attrgetter", "operator.methodcaller",
    "types.FunctionType", "collections.defaultdict", "collections.namedtuple", "codecs.decode", "_codecs.decode",
    "numpy.load", "numpy.frombuffer", "numpy.core.multiarray._reconstruct", "torch.load", "torch.save",
    "torch.from_file", "torch.jit.load", "torch.hub.load", "torch.hub.download_url_to_file", "torch.compile",
    "torch.storage._load_from_bytes", "torch.UntypedStorage.from_file", "torch.Tensor.numpy",
    "torch.nn.modules.linear.Linear", "torch.nn.Parameter", "torch._utils.os", "torch._utils.try_import",
    "torch._utils._import_dotted_name", "torch._utils._flatten_dense_tensors", "torch._utils.render_call",
    "torch._utils.ExceptionWrapper", "torch._utils.CallbackRegistry", "torch._utils._rebuild_tensor.__globals__",
    "torch.serialization.load", "torch.serialization.add_safe_globals", "torch._tensor._rebuild_from_type",
    "torch.multiprocessing.reductions.rebuild_storage_fd", "torch.utils.cpp_extension.load",
    "torch.ops.load_library", "torch.library.Library", "torchlite.load", "torchlite._utils.try_import",
    "collections.OrderedDict.fromkeys", "torch.UntypedStorage", "torch.float32.__reduce__",
)  # fmt: skip


def _names() -> dict[str, bytes]:
    return {f"name {full}": checkpoint(call(full, EVIL)) for full in NAMES} | {
        "name of two lines": checkpoint(b"cos\nsystem\nR."),
        "name of no module": checkpoint(b"c\nset\n)R"),
        "name with a space": checkpoint(b"cbuiltins eval\nset\n)R"),
        "name with a zero": checkpoint(b"cbuiltins\0\nset\n)R"),
        "name not in UTF-8": checkpoint(b"cbuilt\xff\nset\n)R"),
        "name without end": checkpoint(b"c" + b"a" * 200_000),
        "name by its escapes": checkpoint(b"ctorch._utils\n_rebuild\\x5ftensor\n)R"),
        "name as a value": checkpoint(listed(name("os.system"))),
        "class as a function's class": checkpoint(new("os.system", EVIL)),
    }


# ---- opcodes that PyTorch's own unpickler does not know either

_UNKNOWN = {
    "STACK_GLOBAL": text("os") + text("system") + b"\x93", "INST": b"(" + EVIL + b"ios\nsystem\n",
    "OBJ": b"(" + name("builtins.set") + b"o", "EXT1": b"\x82\x01", "EXT2": b"\x83\x01\0", "EXT4": b"\x84\x01\0\0\0",
    "NEWOBJ_EX": name("builtins.set") + b")}\x92", "POP": b"N0N", "POP_MARK": b"(N1N", "DUP": b"N2",
    "STRING": b"S'a'\n", "BINSTRING": b"T\x01\0\0\0a", "UNICODE": b"Va\n", "INT": b"I1\n", "LONG": b"L1L\n",
    "LONG4": b"\x8b\xff\xff\xff\x7f", "FLOAT": b"F1.0\n", "BINBYTES": b"B\xff\xff\xff\xff",
    "SHORT_BINBYTES": b"C\x01a", "BINBYTES8": b"\x8e" + b"\xff" * 8, "BINUNICODE8": b"\x8d" + b"\xff" * 8,
    "SHORT_BINUNICODE": b"\x8c\x01a", "FRAME": b"\x95" + b"\xff" * 8, "MEMOIZE": b"N\x94", "GET": b"Np0\ng0\n",
    "BYTEARRAY8": b"\x96" + b"\xff" * 8, "NEXT_BUFFER": b"\x97", "READONLY_BUFFER": b"N\x98",
    "ADDITEMS": b"\x8f(K\x01\x90", "FROZENSET": b"(K\x01\x91", "PERSID": b"Pstorage\n", "LIST": b"(l", "DICT": b"(d",
    "no opcode": b"\xff",
}  # fmt: skip


# ---- a stack and a memo that are not as opcodes want them

_MISUSED = {
    "nothing at all": b"",
    "a mark alone": b"(",
    "no mark": b"t",
    "no items": b"a",
    "no callable": b")R",
    "arguments that are no tuple": name("builtins.set") + b"]R",
    "call of a value": b"K\x01)R",
    "call of a list": b"])R",
    "call of a result": call("builtins.set") + b")R",
    "state of nothing": b"b",
    "state of a list": b"]}b",
    "state of a class": name("torch.Tensor") + b"}b",
    "odd items": b"}(Nu",
    "append to a tuple": b")Na",
    "items of a set": b"\x8f(NNu",
    "items of a counter that are no numbers": call("collections.Counter") + b"(NNu",
    "append to a mark": b"(Na",
    "get of nothing": b"h\x05",
    "get of a far place": b"j\xff\xff\xff\xff",
    "put of nothing": b"q\0",
    "put of a mark": b"(q\0h\0t",
    "put at a far place": b"Nr\xff\xff\xff\xff",
    "text without end": b"X\xff\xff\xff\xff",
    "number without end": b"J\0",
    "text not in UTF-8": b"X\x01\0\0\0\xff",
    "bytes not in UTF-8": b"U\x01\xff",
    "number of no bytes": b"\x8a\0",
    "number of 255 bytes": b"\x8a\xff" + b"\x7f" * 255,
    "protocol 255": b"\x80\xffN",
    "a list in itself": b"]q\0h\0a",
    "a dictionary in itself": b"}q\0Nh\0s",
    "a list as a key": b"}]Ns",
    "a set in a set": b"\x8f\x85q\0}h\0Ns",
    "a mark as a result": b"N(",
    "many marks": b"(" * 100_000,
}


# ---- depth: what recurses over it must be told first

_DEEP = 200_000  # more than the stack has room for
_DEEP_TUPLE = b")" + b"\x85" * _DEEP
_META = call("torch._utils._rebuild_meta_tensor_no_storage", name("torch.float32"), b")", b")", b"\x89")
_ATTRIBUTES = "torch._utils._rebuild_parameter_with_state"
_RETYPED = (name("torch._utils._rebuild_meta_tensor_no_storage"), name("torch.Tensor"))
_RETYPED_ARGS = several(name("torch.float32"), b")", b")", b"\x89")
_PAIR = _DEEP_TUPLE + b"N\x86"

_DEPTHS = {
    "lists": b"]" * _DEEP + b"a" * (_DEEP - 1),
    "tuples": _DEEP_TUPLE,
    "dictionaries": b"}K\0" * 30_000 + b"N" + b"s" * 30_000,
    "ordered dictionaries": name("collections.OrderedDict") + b"q\0" + b"h\0)RK\0" * 20_000 + b"N" + b"s" * 20_000,
    "tuples in lists": b"]" + b"\x85q\0]h\0a" * 20_000,
    "attributes of ordered dictionaries": b"N"
    + b"".join(b"q\0" + call("collections.OrderedDict") + mapping(text("a"), b"h\0") + b"b" for _ in range(5000)),
    "attributes of tensors": _META
    + b"q\0"
    + b"".join(call(_ATTRIBUTES, _META, b"\x89", b"}", mapping(text("a"), b"h\0")) + b"q\0" for _ in range(3000)),
    "parameters of parameters": tensor()
    + b"q\0"
    + b"".join(call("torch._utils._rebuild_parameter", b"h\0", b"\x88", b"}") + b"q\0" for _ in range(3000)),
    "a key": b"}" + _DEEP_TUPLE + b"Ns",
    "a key of an ordered dictionary": call("collections.OrderedDict") + _DEEP_TUPLE + b"Ns",
    "a key of a counter": call("collections.Counter") + _DEEP_TUPLE + b"Ns",
    "a key of 99": b"})" + b"\x85" * 98 + b"Ns",
    "a key of 101": b"})" + b"\x85" * 101 + b"Ns",
    "an item of a set": call("builtins.set", listed(_DEEP_TUPLE)),
    "an item of a new set": new("builtins.set", listed(_DEEP_TUPLE)),
    "a pair of an ordered dictionary": call("collections.OrderedDict", listed(_PAIR)),
    "a pair of a new ordered dictionary": new("collections.OrderedDict", listed(_PAIR)),
    "a pair of a counter": call("collections.Counter", listed(_PAIR)),
    "a pair of attributes": call("collections.OrderedDict") + listed(_PAIR) + b"b",
    "a pair of a parameter's state": call(_ATTRIBUTES, _META, b"\x89", b"}", listed(_PAIR)),
    "a pair of a tensor's state": call("torch._tensor._rebuild_from_type_v2", *_RETYPED, _RETYPED_ARGS, listed(_PAIR)),
    "a function": _DEEP_TUPLE + b")R",
    "a class": _DEEP_TUPLE + b")\x81",
    "a saved id": _DEEP_TUPLE + b"Q",
    "a kind of saved id": several(_DEEP_TUPLE) + b"Q",
    "a size": tensor(size=_DEEP_TUPLE),
    "a storage": tensor(_DEEP_TUPLE),
    "a function in a class": call("torch._tensor._rebuild_from_type_v2", _DEEP_TUPLE, _RETYPED[1], b")", b"N"),
    "a dtype": call("torch._utils._rebuild_meta_tensor_no_storage", _DEEP_TUPLE, b")", b")", b"\x89"),
    "a device": call("torch.device", _DEEP_TUPLE),
    "a layout": call("torch.serialization._get_layout", _DEEP_TUPLE),
}


# ---- work: what is small in the file and endless to hash, compare, print or copy

_FAN = b"K\x01\x85q\0" + b"".join(b"h\0h\0\x86q\0" for _ in range(60))  # leaves 60 items, the last of 2 ** 60 parts
_ALIKE = range(1, 20_000)


def _fanned(*then: bytes) -> bytes:
    return b"](" + _FAN + b"".join(then) + b"e"


def _complex(i: int) -> bytes:
    return call("builtins.complex", real(-1000003.0 * i), real(float(i)))


_WORK = {
    "a key": _fanned(b"}h\0Ns"),
    "an item of a set": _fanned(call("builtins.set", listed(b"h\0"))),
    "a pair": _fanned(call("collections.OrderedDict", listed(b"h\0N\x86"))),
    "two equal keys": b"](" + _FAN + b"h\0q\1" + _FAN + b"}h\0Nsh\1Nse",
    "a function": _fanned(b"h\0)R"),
    "a class": _fanned(b"h\0)\x81"),
    "a list for a function": _fanned(b"]q\0" + b"".join(b"]q\1h\0ah\0ah\1q\0" for _ in range(60)) + b"h\0)R"),
    "a saved id": _fanned(b"h\0Q"),
    "a state": _fanned(call("torch.device", text("cpu")) + b"h\0b"),
    "an encoding": _fanned(call("_codecs.encode", text("a"), b"h\0")),
    "a geometry": _fanned(tensor(size=b"h\0")),
    "a count": _fanned(storage(count=b"h\0")),
    "numbers of one hash": b"}(" + b"".join(number(1 + i * ((1 << 61) - 1)) + b"N" for i in _ALIKE) + b"u",
    "complex numbers of one hash": b"}(" + b"".join(_complex(i) + b"N" for i in _ALIKE) + b"u",
    "a set of numbers of one hash": call("builtins.set", listed(*(number(1 + i * ((1 << 61) - 1)) for i in _ALIKE))),
    "tuples of numbers of one hash": b"}("
    + b"".join(number(1 + i * ((1 << 61) - 1)) + b"\x85N" for i in _ALIKE)
    + b"u",
    "a wide key": b"(" + b"K\1" * 50_000 + b"tq\0}" + b"h\0Ns" * 50_000,
    "a wide size": b"(" + b"K\1" * 50_000 + b"tq\0](" + tensor(size=b"h\0") + b"e",
    "copies of a text": b"("
    + text("a" * 50_000)
    + b"q\0"
    + call("_codecs.encode", b"h\0", text("latin1")) * 3000
    + b"t",
    "copies of a list": b"(](" + b"K\1" * 50_000 + b"eq\0" + call("torch.Size", b"h\0") * 3000 + b"t",
    "copies of a dictionary": b"("
    + mapping(*(number(i) + b"N" for i in range(5000)))
    + b"q\0"
    + call("collections.OrderedDict", b"h\0") * 3000
    + b"t",
    "copies of a state": b"("
    + mapping(*(text(f"a{i}") + b"N" for i in range(5000)))
    + b"q\0"
    + call(_ATTRIBUTES, _META, b"\x89", b"}", b"h\0") * 1000
    + b"t",
    "copies of bytes": b"("
    + call("builtins.bytearray", text("a" * 50_000), text("latin1"))
    + b"q\0"
    + call("builtins.bytearray", b"h\0") * 3000
    + b"t",
    "an unknown codec": call("_codecs.encode", text("a"), text("bz2")),
    "a codec that decodes": call("_codecs.encode", text("a"), text("idna")),
    "empty sets": listed(b"\x8f" * 1_000_000),
    "empty dictionaries": listed(b"}" * 50_000),
    "empty counters": b"(" + name("collections.Counter") + b"q\0" + b"h\0)R" * 30_000 + b"t",
    "tensors": b"(" + name("torch.FloatTensor") + b"q\0" + b"h\0)\x81" * 40_000 + b"t",
    "one tensor again and again": storage() + b"q\0(" + tensor(b"h\0") * 1000 + b"t",
    "bools over bytes": b"("
    + storage("torch.storage.UntypedStorage", count=number(24))
    + b"q\0"
    + call("torch._utils._rebuild_tensor_v3", b"h\0", b"K\0", b"K\6\x85", b"K\1\x85", b"\x89", b"}", name("torch.bool"))
    * 3000
    + b"t",
    "protocols": b"\x80\2" * 2000 + b"N",
}


# ---- calls with arguments that do not fit

_V3 = "torch._utils._rebuild_tensor_v3"
_MOVE = "torch._utils._rebuild_device_tensor_from_cpu_tensor"
_META_CALL = "torch._utils._rebuild_meta_tensor_no_storage"

_NESTED = "torch.nested._internal.nested_tensor._rebuild_njt"
_RANGE = "torch._dynamo.decorators._DimRange"


def _nested(offsets: bytes = tensor(), dim: bytes = b"K\1", told: bytes = b"}") -> bytes:
    parts = {
        "values": tensor(), "offsets": offsets, "lengths": b"N", "_ragged_idx": dim, "_metadata_cache": told,
        "requires_grad": b"\x89",
    }  # fmt: skip
    return call(_NESTED, mapping(*[text(key) + part for key, part in parts.items()]))


_ARGUMENTS = {
    "nested of nothing": call(_NESTED, b"}"),
    "nested of a list": call(_NESTED, listed(tensor())),
    "nested at a text": _nested(offsets=EVIL),
    "nested at no dimension": _nested(dim=b"K\0"),
    "nested at an expanded tensor": _nested(offsets=tensor(size=number(1 << 36) + b"\x85", stride=b"K\0\x85")),
    "nested with bounds of text": _nested(told=mapping(text("max_seqlen") + EVIL)),
    "range of a text": call(_RANGE, EVIL),
    "state of a range of one": new(_RANGE) + b"K\1\x85b",
    "bytearray of a size": call("builtins.bytearray", number((1 << 32) - 1)),
    "set of a size": call("builtins.set", number(1 << 32)),
    "set of a text": call("builtins.set", text("abc")),
    "Size of a size": call("torch.Size", number(1 << 32)),
    "Size of texts": call("torch.Size", listed(text("a"))),
    "new Tensor of a size": new("torch.Tensor", number(1 << 32)),
    "new FloatTensor of a size": new("torch.FloatTensor", number(1 << 40)),
    "FloatTensor of a size": call("torch.FloatTensor", number(1 << 40)),
    "Tensor of a size": call("torch.Tensor", number(1 << 40)),
    "storage of a size": call("torch.storage.UntypedStorage", number(1 << 40)),
    "new storage of a size": new("torch.storage.UntypedStorage", number(1 << 40)),
    "typed storage": call("torch.storage.TypedStorage", number(1 << 40)),
    "storage class": call("torch.FloatStorage", number(1 << 40)),
    "dtype": call("torch.float32", number(1)),
    "quantization scheme": call("torch.per_tensor_affine"),
    "Parameter of a list": call("torch.nn.parameter.Parameter", listed(number(1))),
    "Parameter of nothing": call("torch.nn.parameter.Parameter"),
    "Parameter of integers": call(
        "torch.nn.parameter.Parameter", call(_META_CALL, name("torch.int64"), b")", b")", b"\x89")
    ),
    "device of nothing": call("torch.device"),
    "device of text": call("torch.device", EVIL),
    "device far away": call("torch.device", text("cuda"), number(1 << 40)),
    "negative device": call("torch.device", text("cuda"), number(-1)),
    "new device": new("torch.device", text("cpu")),
    "complex of texts": call("builtins.complex", text("1e999")),
    "complex of a long": call("builtins.complex", number(1 << 1999)),
    "layout of text": call("torch.serialization._get_layout", EVIL),
    "Counter of texts": call("collections.Counter", text("aab")),
    "OrderedDict of a text": call("collections.OrderedDict", text("ab")),
    "OrderedDict of triples": call("collections.OrderedDict", listed(b"NNN\x87")),
    "meta of 2 ** 62": call(_META_CALL, name("torch.float32"), number(1 << 62) + b"\x85", b"K\1\x85", b"\x89"),
    "meta of a text": call(_META_CALL, name("torch.float32"), text("ab"), text("ab"), b"\x89"),
    "meta of no dtype": call(_META_CALL, text("float32"), b")", b")", b"\x89"),
    "move of an expanded tensor": call(
        _MOVE, tensor(size=number(1 << 36) + b"\x85", stride=b"K\0\x85"), name("torch.float64"), text("cpu"), b"\x89"
    ),
    "move to nowhere": call(_MOVE, tensor(), name("torch.float32"), text("xla:0"), b"\x89"),
    "move of a list": call(
        "torch._utils._rebuild_device_tensor_from_numpy", listed(real(1.0)), name("torch.float32"), text("cpu"), b"\x89"
    ),
    "a wrapper of anything": call(
        "torch._utils._rebuild_wrapper_subclass",
        name("builtins.set"),
        b"N",
        b")",
        b")",
        b"K\0",
        b"N",
        text("cpu"),
        b"\x89",
    ),
    "a class of another kind": call(
        "torch._tensor._rebuild_from_type_v2", _RETYPED[0], name("builtins.set"), _RETYPED_ARGS, b"N"
    ),
    "a rebuilder of another kind": call(
        "torch._tensor._rebuild_from_type_v2", name("builtins.set"), _RETYPED[1], b")", b"N"
    ),
    "a rebuilder of itself": call(
        "torch._tensor._rebuild_from_type_v2", name("torch._tensor._rebuild_from_type_v2"), _RETYPED[1], b")", b"N"
    ),
    "a state of three": call("torch._tensor._rebuild_from_type_v2", *_RETYPED, _RETYPED_ARGS, b"NNN\x87"),
    "a slot": call(
        "torch._tensor._rebuild_from_type_v2", *_RETYPED, _RETYPED_ARGS, b"N" + mapping(text("array"), b"N") + b"\x86"
    ),
    "attributes that are no names": call(
        "torch._tensor._rebuild_from_type_v2", *_RETYPED, _RETYPED_ARGS, mapping(b"K\1N")
    ),
    "state of a tensor that has one": tensor() + several(storage(), b"K\0", b")", b")") + b"b",
    "state of a tensor of texts": name("torch.FloatTensor") + b")\x81" + several(*[text("a")] * 4) + b"b",
    "state of three": name("torch.FloatTensor") + b")\x81NNN\x87b",
}


# ---- tensors that are not inside of their storages, and storages that are not in the file

_GEOMETRY = {
    "offset -1": tensor(offset=number(-1)),
    "offset 7": tensor(offset=number(7)),
    "offset 2 ** 62": tensor(offset=number(1 << 62)),
    "offset 2 ** 70": tensor(offset=number(1 << 70)),
    "offset 1.0": tensor(offset=real(1.0)),
    "size 7": tensor(size=b"K\7\x85"),
    "size -1": tensor(size=number(-1) + b"\x85"),
    "size 2 ** 62": tensor(size=number(1 << 62) + b"\x85", stride=b"K\0\x85"),
    "size 2 ** 64": tensor(size=number(1 << 64) + b"\x85", stride=b"K\0\x85"),
    "sizes that overflow": tensor(size=number(1 << 40) * 2 + b"\x86", stride=b"K\0K\0\x86"),
    "sizes with a zero": tensor(size=number(1 << 62) + number(1 << 62) + b"K\0\x87", stride=b"K\0K\0K\0\x87"),
    "sizes of floats": tensor(size=real(6.0) + b"\x85"),
    "sizes of texts": tensor(size=text("6") + b"\x85"),
    "size True": tensor(size=b"\x88\x85"),
    "size of a text": tensor(size=text("6")),
    "stride -1": tensor(stride=number(-1) + b"\x85"),
    "stride 2": tensor(stride=b"K\2\x85"),
    "stride 2 ** 62": tensor(stride=number(1 << 62) + b"\x85"),
    "more strides than sizes": tensor(stride=b"K\1K\1\x86"),
    "65 dimensions": tensor(size=several(*[b"K\1"] * 65), stride=several(*[b"K\1"] * 65)),
    "5000 dimensions": tensor(size=several(*[b"K\1"] * 5000), stride=several(*[b"K\1"] * 5000)),
    "storage of none": tensor(b"N"),
    "storage of a class": tensor(name("torch.FloatStorage")),
    "storage of a tensor": tensor(tensor()),
    "storage of an untyped class": tensor(name("torch.storage.UntypedStorage")),
    "dtype of a text": call(_V3, storage(), b"K\0", b"K\6\x85", b"K\1\x85", b"\x89", b"}", text("float32")),
    "a wider dtype": call(_V3, storage(), b"K\0", b"K\6\x85", b"K\1\x85", b"\x89", b"}", name("torch.float64")),
    "gradient of integers": call(
        "torch._utils._rebuild_tensor_v2", storage("torch.IntStorage"), b"K\0", b"K\6\x85", b"K\1\x85", b"\x88", b"}"
    ),
    "conjugate of floats": call(
        "torch._utils._rebuild_tensor_v2",
        storage(),
        b"K\0",
        b"K\6\x85",
        b"K\1\x85",
        b"\x89",
        b"}",
        mapping(text("conj"), b"\x88"),
    ),
    "metadata of texts": call(
        "torch._utils._rebuild_tensor_v2", storage(), b"K\0", b"K\6\x85", b"K\1\x85", b"\x89", b"}", text("conj")
    ),
    "too few arguments": call("torch._utils._rebuild_tensor_v2", storage()),
}

_STORAGES = {
    "-1 elements": {"count": number(-1)},
    "7 elements": {"count": number(7)},
    "5 elements": {"count": number(5)},
    "2 ** 61 elements": {"count": number(1 << 61)},
    "2 ** 70 elements": {"count": number(1 << 70)},
    "6.0 elements": {"count": real(6.0)},
    "True elements": {"count": b"\x88"},
    "no such record": {"key": text("1")},
    "a path upwards": {"key": text("../data.pkl")},
    "an absolute path": {"key": text("/etc/passwd")},
    "a zero in the key": {"key": text("0\0")},
    "a number as key": {"key": number(0)},
    "a tuple as key": {"key": _DEEP_TUPLE},
    "location evil": {"location": text("evil:0")},
    "location cuda:99": {"location": text("cuda:99")},
    "location of nothing": {"location": text("")},
    "location of a path": {"location": text("/dev/null")},
    "a location that is no text": {"location": b"N"},
    "meta of 2 ** 50": {"location": text("meta"), "count": number(1 << 50)},
    "a class of no storage": {"kind": "torch.float32"},
    "a class of a set": {"kind": "builtins.set"},
    "a quantized class": {"kind": "torch.QInt8Storage"},
    "a function as class": {"kind": "torch._utils._rebuild_tensor"},
}

_IDS = {
    "of one part": several(text("storage")) + b"Q",
    "of no part": b")Q",
    "of a number": b"K\1Q",
    "of a text": text("storage") + b"Q",
    "of a module": several(text("module"), name("builtins.set"), text("a"), text("b")) + b"Q",
    "of seven parts": storage("torch.FloatStorage", text("0"), text("cpu"), number(6), b"N", b"N"),
    "of bytes": several(
        call("_codecs.encode", text("storage"), text("latin1")),
        name("torch.FloatStorage"),
        text("0"),
        text("cpu"),
        number(6),
    )
    + b"Q",
    "that disagree on the class": several(storage(), storage("torch.IntStorage")),
    "that disagree on the size": several(storage(), storage("torch.DoubleStorage", count=number(3))),
}


def files() -> dict[str, bytes]:
    """All of them, in zip files that are as they should be."""
    themes = {
        "opcode": _UNKNOWN, "misuse": _MISUSED, "depth of": _DEPTHS, "work of": _WORK, "arguments:": _ARGUMENTS,
        "tensor with": _GEOMETRY, "id": _IDS,
    }  # fmt: skip
    found = {f"{theme} {what}": checkpoint(body) for theme, bodies in themes.items() for what, body in bodies.items()}
    for what, parts in _STORAGES.items():
        found[f"storage of {what}"] = checkpoint(tensor(storage(**parts)))  # type: ignore[arg-type]
    found["a big number in little"] = checkpoint(b"J" + struct.pack("<i", -(1 << 31)))
    return found | _names()
