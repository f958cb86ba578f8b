"""PyTorch's overloads, where a function has several: its refusals list them in this order."""

from __future__ import annotations

import functools
import re

_SHORT = {
    "OPTIONS": "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool pin_memory=False, "
    "bool requires_grad=False",
    "SIDES": "bool out_int32=False, bool right=False",
}

_FUNCTIONS = """
addmm:
    Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor? out=None
    Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1, Tensor? out=None
all any:
    Tensor self, *, Tensor? out=None
    Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor? out=None
    Tensor self, int dim, bool keepdim=False, *, Tensor? out=None
arange:
    Scalar end, *, Tensor? out=None, OPTIONS
    Scalar start, Scalar end, *, OPTIONS
    Scalar start, Scalar end, Scalar step=1, *, Tensor? out=None, OPTIONS
argsort:
    Tensor self, *, bool stable, int dim=-1, bool descending=False, Tensor? out=None
    Tensor self, int dim=-1, bool descending=False
baddbmm:
    Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1, Tensor? out=None
    Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1, Tensor? out=None
bartlett_window blackman_window hann_window:
    int window_length, *, OPTIONS
    int window_length, bool periodic, *, OPTIONS
bernoulli:
    Tensor self, *, Generator? generator=None, Tensor? out=None
    Tensor self, float p, *, Generator? generator=None
bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor remainder:
    Tensor self, Tensor other, *, Tensor? out=None
    Scalar self, Tensor other
    Tensor self, Scalar other, *, Tensor? out=None
bmm mm:
    Tensor self, Tensor mat2, *, Tensor? out=None
    Tensor self, Tensor mat2, ScalarType out_dtype, *, Tensor? out=None
bucketize:
    Tensor self, Tensor boundaries, *, SIDES, Tensor? out=None
    Scalar self, Tensor boundaries, *, SIDES
clamp clip:
    Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor? out=None
    Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor? out=None
clamp_max:
    Tensor self, Tensor max, *, Tensor? out=None
    Tensor self, Scalar max, *, Tensor? out=None
clamp_min:
    Tensor self, Tensor min, *, Tensor? out=None
    Tensor self, Scalar min, *, Tensor? out=None
conv1d conv2d conv3d:
    Tensor self, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1
    Tensor self, Tensor weight, Tensor? bias=None, int[] stride=1, str padding="valid", int[] dilation=1, int groups=1
copysign eq fmod ge greater greater_equal gt le less less_equal lt ne not_equal:
    Tensor self, Tensor other, *, Tensor? out=None
    Tensor self, Scalar other, *, Tensor? out=None
count_nonzero:
    Tensor self, int? dim=None
    Tensor self, int[] dim
cumulative_trapezoid trapezoid:
    Tensor y, Tensor x, *, int dim=-1
    Tensor y, *, Scalar dx=1, int dim=-1
div:
    Tensor self, Tensor other, *, Tensor? out=None
    Tensor self, Tensor other, *, str? rounding_mode, Tensor? out=None
    Tensor self, Scalar other, *, str? rounding_mode
divide:
    Tensor self, Tensor other, *, Tensor? out=None
    Tensor self, Tensor other, *, str? rounding_mode, Tensor? out=None
    Tensor self, Scalar other
    Tensor self, Scalar other, *, str? rounding_mode
dsplit hsplit vsplit:
    Tensor self, int sections
    Tensor self, int[] indices
eye:
    int n, *, Tensor? out=None, OPTIONS
    int n, int m, *, Tensor? out=None, OPTIONS
fill:
    Tensor self, Tensor value
    Tensor self, Scalar value
float_power pow:
    Tensor self, Tensor exponent, *, Tensor? out=None
    Scalar self, Tensor exponent, *, Tensor? out=None
    Tensor self, Scalar exponent, *, Tensor? out=None
floor_divide multiply true_divide:
    Tensor self, Tensor other, *, Tensor? out=None
    Tensor self, Scalar other
gradient:
    Tensor self, *, int[] dim, int edge_order=1
    Tensor self, *, Scalar spacing, int[] dim, int edge_order=1
    Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1
    Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1
    Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1
    Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1
    Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1
hamming_window:
    int window_length, *, OPTIONS
    int window_length, bool periodic, *, OPTIONS
    int window_length, bool periodic, float alpha, *, OPTIONS
    int window_length, bool periodic, float alpha, float beta, *, OPTIONS
histogram:
    Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False, Tensor[]? out=None
    Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False, Tensor[]? out=None
index_fill:
    Tensor self, int dim, Tensor index, Tensor value
    Tensor self, int dim, Tensor index, Scalar value
isin:
    Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor? out=None
    Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor? out=None
    Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False, Tensor? out=None
kaiser_window:
    int window_length, *, OPTIONS
    int window_length, bool periodic, *, OPTIONS
    int window_length, bool periodic, float beta, *, OPTIONS
lerp:
    Tensor self, Tensor end, Tensor weight, *, Tensor? out=None
    Tensor self, Tensor end, Scalar weight, *, Tensor? out=None
linalg_cond:
    Tensor self, Scalar? p=None, *, Tensor? out=None
    Tensor self, str p, *, Tensor? out=None
linalg_matrix_rank:
    Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor? out=None
    Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False, Tensor? out=None
    Tensor self, Tensor tol, bool hermitian=False, *, Tensor? out=None
    Tensor self, float tol, bool hermitian=False, *, Tensor? out=None
linalg_norm:
    Tensor self, Scalar? ord=None, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor? out=None
    Tensor self, str ord, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, Tensor? out=None
linalg_pinv:
    Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor? out=None
    Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False, Tensor? out=None
    Tensor self, Tensor rcond, bool hermitian=False, *, Tensor? out=None
    Tensor self, float rcond, bool hermitian=False, *, Tensor? out=None
linspace:
    Tensor start, Tensor end, int steps, *, Tensor? out=None, OPTIONS
    Scalar start, Tensor end, int steps, *, Tensor? out=None, OPTIONS
    Tensor start, Scalar end, int steps, *, Tensor? out=None, OPTIONS
    Scalar start, Scalar end, int steps, *, Tensor? out=None, OPTIONS
logspace:
    Tensor start, Tensor end, int steps, float base=10.0, *, Tensor? out=None, OPTIONS
    Scalar start, Tensor end, int steps, float base=10.0, *, Tensor? out=None, OPTIONS
    Tensor start, Scalar end, int steps, float base=10.0, *, Tensor? out=None, OPTIONS
    Scalar start, Scalar end, int steps, float base=10.0, *, Tensor? out=None, OPTIONS
masked_fill:
    Tensor self, Tensor mask, Tensor value
    Tensor self, Tensor mask, Scalar value
max min:
    Tensor self, *, Tensor? out=None
    Tensor self, Tensor other, *, Tensor? out=None
    Tensor self, int dim, bool keepdim=False, *, Tensor[]? out=None
mean:
    Tensor self, *, ScalarType? dtype=None, Tensor? out=None
    Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor? out=None
median nanmedian:
    Tensor self
    Tensor self, int dim, bool keepdim=False, *, Tensor[]? out=None
moveaxis movedim:
    Tensor self, int source, int destination
    Tensor self, int[] source, int[] destination
nanquantile quantile:
    Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor? out=None
    Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor? out=None
normal:
    Tensor mean, Tensor std, *, Generator? generator=None, Tensor? out=None
    Tensor mean, float std=1, *, Generator? generator=None, Tensor? out=None
    float mean, Tensor std, *, Generator? generator=None, Tensor? out=None
    float mean, float std, int[] size, *, Generator? generator=None, Tensor? out=None, OPTIONS
nuclear_norm:
    Tensor self, int[] dim, bool keepdim=False, *, Tensor? out=None
    Tensor self, bool keepdim=False, *, Tensor? out=None
prod:
    Tensor self, *, ScalarType? dtype=None
    Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor? out=None
rand randn:
    int[] size, *, Generator generator, Tensor? out=None, OPTIONS
    int[] size, *, Tensor? out=None, OPTIONS
rand_like randn_like:
    Tensor self, *, Generator generator, MemoryFormat? memory_format=None, OPTIONS
    Tensor self, *, MemoryFormat? memory_format=None, OPTIONS
randperm:
    int n, *, Generator generator, Tensor? out=None, OPTIONS
    int n, *, Tensor? out=None, OPTIONS
repeat_interleave:
    Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None
    Tensor repeats, *, int? output_size=None
    Tensor self, int repeats, int? dim=None, *, int? output_size=None
round:
    Tensor self, *, Tensor? out=None
    Tensor self, *, int decimals, Tensor? out=None
rsub:
    Tensor self, Tensor other, *, Scalar alpha=1
    Tensor self, Scalar other, Scalar alpha=1
scatter:
    Tensor self, int dim, Tensor index, Tensor src, *, Tensor? out=None
    Tensor self, int dim, Tensor index, Tensor src, *, str reduce, Tensor? out=None
    Tensor self, int dim, Tensor index, Scalar value, *, Tensor? out=None
    Tensor self, int dim, Tensor index, Scalar value, *, str reduce, Tensor? out=None
searchsorted:
    Tensor sorted_sequence, Tensor self, *, SIDES, str? side=None, Tensor? sorter=None, Tensor? out=None
    Tensor sorted_sequence, Scalar self, *, SIDES, str? side=None, Tensor? sorter=None, Tensor? out=None
sort:
    Tensor self, *, bool stable, int dim=-1, bool descending=False, Tensor[]? out=None
    Tensor self, int dim=-1, bool descending=False, *, Tensor[]? out=None
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w:
    Tensor x, Tensor n, *, Tensor? out=None
    Scalar x, Tensor n, *, Tensor? out=None
    Tensor x, Scalar n, *, Tensor? out=None
special_xlog1py special_xlogy special_zeta xlogy:
    Tensor self, Tensor other, *, Tensor? out=None
    Scalar self, Tensor other, *, Tensor? out=None
    Tensor self, Scalar other, *, Tensor? out=None
squeeze:
    Tensor self
    Tensor self, int dim
    Tensor self, int[] dim
std var:
    Tensor self, int[] dim, bool unbiased=True, bool keepdim=False, *, Tensor? out=None
    Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False, Tensor? out=None
    Tensor self, bool unbiased=True
std_mean var_mean:
    Tensor self, int[] dim, bool unbiased=True, bool keepdim=False
    Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False
    Tensor self, bool unbiased=True
subtract:
    Tensor self, Tensor other, *, Scalar alpha=1, Tensor? out=None
    Tensor self, Scalar other, Scalar alpha=1
sum:
    Tensor self, *, ScalarType? dtype=None
    Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor? out=None
tensor_split:
    Tensor self, int[] indices, int dim=0
    Tensor self, Tensor tensor_indices_or_sections, int dim=0
    Tensor self, int sections, int dim=0
trapz:
    Tensor y, *, float dx=1, int dim=-1
    Tensor y, Tensor x, *, int dim=-1
where:
    Tensor condition
    Tensor condition, Tensor self, Tensor other, *, Tensor? out=None
    Tensor condition, Scalar self, Tensor other
    Tensor condition, Tensor self, Scalar other
    Tensor condition, Scalar self, Scalar other
"""

# Methods that are no function whose first argument is the tensor, or have not all of its overloads.
_METHODS = """
addmm addmm_:
    Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1
baddbmm baddbmm_:
    Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1
bmm mm:
    Tensor self, Tensor mat2
bernoulli_:
    Tensor self, Tensor p, *, Generator? generator=None
    Tensor self, float p=0.5, *, Generator? generator=None
random_:
    Tensor self, *, Generator? generator=None
    Tensor self, int from, int to, *, Generator? generator=None
    Tensor self, int to, *, Generator? generator=None
nonzero:
    Tensor self
    Tensor self, *, bool as_tuple
where:
    Tensor self, Tensor condition, Tensor other
    Tensor self, Tensor condition, Scalar other
view:
    Tensor self, ScalarType dtype
    Tensor self, int[] size
to_sparse:
    Tensor self, *, Layout? layout=None, int[]? blocksize=None, int? dense_dim=None
    Tensor self, int sparse_dim
"""


def _listed(text: str) -> dict[str, list[str]]:
    """The overloads by name."""
    for short, whole in _SHORT.items():
        text = text.replace(short, whole)
    found: dict[str, list[str]] = {}
    for names, forms in re.findall(r"([\w\s]+):\n((?: .+\n)+)", text):
        listed = [form.strip() for form in forms.splitlines()]
        found |= {name: listed for name in names.split()}
    return found


@functools.cache
def _tables() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    return _listed(_FUNCTIONS), _listed(_METHODS)


def pytorchs_overloads(name: str, method: bool) -> list[str]:
    """PyTorch's overloads of a function or a method, none if it has only one. A method has those functions' that begin
    with `self`, unless it is in the table of its own."""
    functions, methods = _tables()
    if method and name in methods:
        forms = methods[name]
    elif method or name.endswith("_"):
        base = name if name in functions else name.rstrip("_")
        forms = [_without_out(form) for form in functions.get(base, []) if form.startswith("Tensor self")]
    else:
        forms = functions.get(name, [])
    return [f"{name}({form})" for form in forms]


def _without_out(form: str) -> str:
    parts = [part for part in form.split(", ") if not part.endswith(" out=None")]
    return ", ".join(parts[:-1] if parts[-1] == "*" else parts)
