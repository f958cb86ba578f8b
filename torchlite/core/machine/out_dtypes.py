"""What ops say when `out=` has another dtype than their result, where it has to be that, or one it can be cast to."""

from __future__ import annotations

from ..values import dt

_PLAIN = "Expected out tensor to have dtype {want.cname}, but got {got.cname} instead"
_INPUT_AND_OUT = (
    "Expected the dtype for input and out to match, but got {want.legacy} for input's dtype and {got.legacy} for out's "
    "dtype."
)
_FOUND = "Found dtype {got.legacy} but expected {want.legacy}"
_SCALAR_TYPE = "expected scalar_type {want.legacy} but found {got.legacy}"
_SAME_SCALAR_TYPE = "{op}(): self and result must have the same scalar type"
_NORM = "{op} expected out tensor dtype {want.legacy} but got: {got.legacy}"
_VALUES = (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type torch.{got.legacy}"
    "Tensor does not equal torch.{want.legacy}Tensor (while checking arguments for median)"
)

# Of ops whose (first) result has to have its dtype.
_EXACT = {
    "bitwise_not ceil conj_physical floor frac gelu hardshrink neg": _FOUND,
    "round sgn sign softplus softshrink special_round trunc": _FOUND,
    "addbmm": "self and mat2 must have the same dtype, but got {got.legacy} and {want.legacy}",
    "amax amin": _INPUT_AND_OUT,
    "cummax cummin logcumsumexp": _SCALAR_TYPE,
    "dot vdot": "result dtype {got.legacy} does not match input dtype {want.legacy}",
    "diag frobenius_norm norm renorm tril triu": _PLAIN,
    "float_power": "the output given to float_power has dtype {got.legacy} but the operation's result requires dtype "
    "{want.legacy}",
    "frexp": "torch.frexp() expects mantissa to have dtype {want.cname} but got {got.cname}",
    "histc": "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {want.cname} and "
    "hist {got.cname}",
    "index_select masked_select": _SAME_SCALAR_TYPE,
    "kthvalue": "output values must be of same type as input",
    "linalg_multi_dot": "multi_dot(): expected out tensor to have dtype {want.cname} but got {got.cname}",
    "linalg_norm linalg_matrix_norm": _NORM,
    "nuclear_norm": _NORM.replace("{op}", "linalg.matrix_norm"),
    "median nanmedian": _VALUES,
    "mode": "expected scalar type '{want.legacy}' but got '{got.legacy}' for values output",
    "nan_to_num": "nan_to_num: dtype of out: {got.legacy} should be same as input: {want.legacy}",
    "nonzero": "nonzero: Expected out tensor to have scalar type {want.legacy} but got scalar type{got.legacy}",
    "quantile nanquantile": "{op}() out tensor must be same dtype as the input tensor",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {want.legacy} and out.dtype = "
    "{got.legacy}",
    "tensordot": "tensordot: Expected the output tensor to have dtype {want.legacy}, but got an output tensor with "
    "dtype {got.legacy}",
    "where": "Expected out type to be {want.legacy} but got {got.legacy}",
}

_CASTABLE = (
    "{op}: Expected {name} to be safely castable from {want.legacy} dtype, but got {name} with dtype {got.legacy}"
)

# Of ops whose (first) result has to be castable to it.
_CAST = {
    "cholesky cholesky_inverse cholesky_solve": _CASTABLE.replace("{name}", "result"),
    "linalg_cond": _CASTABLE.replace("{name}", "result"),
    "linalg_eig linalg_eigvals": "torch." + _CASTABLE.replace("{name}", "eigenvalues"),
    "linalg_matrix_rank": "torch." + _CASTABLE.replace("{name}", "result"),
}

# Ops whose result is of the operand's dtype, so that PyTorch looks at `out=` before it computes anything.
KEEPS_DTYPE = frozenset((
    "abs", "amax", "amin", "ceil", "floor", "frac", "log_softmax", "logcumsumexp", "neg", "round", "sgn", "sign",
    "softmax", "trunc",
))  # fmt: skip
BEFORE_DIMS = frozenset(("amax", "amin"))  # those of them that look at it before the dimensions, too

_exact, _cast = ({op: text for ops, text in table.items() for op in ops.split()} for table in (_EXACT, _CAST))


def check_found(want: dt.dtype, got: dt.dtype) -> None:
    """Refuse what is given as `out=` for not having the dtype of an operand."""
    if got is not want:
        raise RuntimeError(_FOUND.format(want=want, got=got))


def check_out_dtype(op: str, want: dt.dtype, got: dt.dtype, *, exact: bool, first: bool = True) -> None:
    """Refuse a tensor given as `out=` for its dtype; `exact`, where the op's results have to keep theirs."""
    if want is got:
        return
    text = None
    if first and op in _cast:
        text = None if dt.can_cast(want, got) else _cast[op]
    elif exact or (first and op in _exact):
        text = _exact.get(op, _PLAIN) if first else _PLAIN
    if text is not None:
        raise RuntimeError(text.format(op=op.replace("linalg_", "linalg."), want=want, got=got))
