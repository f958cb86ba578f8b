"""torch.special: special functions under the names that mathematics has for them."""

from .absent import lacking as _lacking
from .core.declare import publish_alias as _publish_alias
from .core.declare import publish_python as _publish_python
from .core.machine.registry import functions as _functions
from .core.machine.registry import registry as _registry
from .operations.pointwise.special_functions import special as _special

globals().update(_special)
for _names in (
    "digamma", "erf", "erfc", "erfinv", "exp2", "expit sigmoid", "expm1", "gammainc igamma", "gammaincc igammac",
    "gammaln lgamma", "i0", "log1p", "logit", "logsumexp", "multigammaln mvlgamma", "psi digamma",
    "sinc", "softmax", "xlogy",
):  # fmt: skip
    _name, _known = _names.split()[0], _names.split()[-1]
    _op = _registry.get(_known) or _registry[f"{_known}.int"]
    _made = _publish_alias(f"special_{_name}", _known, _op, function=False)
    _made.__doc__ = _functions[_known].__doc__
    globals()[_name] = _made

_op = _registry["log_softmax.int"]
log_softmax = _publish_python(
    "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None)", _op.apply, function=False, method=False,
    comes_to=lambda *values: (_op, values),
)  # fmt: skip
log_softmax.__doc__ = _functions["log_softmax"].__doc__

__getattr__ = _lacking(__name__)
