"""Differences that are known, each with its cause, as which they are counted: apart from those nobody has explained.

An entry tells what it explains by looking at the program, whose last line made the difference, and at what differs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .compare import Difference
from .evidence import (
    all_apart,
    all_zero,
    anywhere,
    close,
    finite,
    half_turns,
    listed,
    nan_for_infinity,
    nan_for_zero,
    nothing_instead,
    numbered_otherwise,
    operands_differ,
    over_an_operand,
    overwritten,
    packed,
    permuted,
    refused,
    reshapes_unrecorded,
    resizes,
    row_by_row,
    same_but_for_signs,
    says,
    taken,
    takes_inference,
    takes_overlapping,
    tells_of_detached,
    tied,
    where_it_matters,
    writes_overlapping,
)
from .program import Program
from .rounding import CERTAIN


@dataclass(frozen=True)
class Known:
    """One cause for which the libraries differ."""

    name: str
    cause: str
    explains: Callable[[Program, Difference], bool]


OF_STEPS = ("_is_view()", "_base", "grad_fn", "_version", "output_nr")  # by which a value tells of its last step
OF_MEMORY = ("storage_offset()", "untyped_storage().nbytes()", "shares memory with")
TRANSFORM = r"torch\.func\.|torch\.autograd\.functional|checkpoint"
FORBIDDEN = "its base or another view of its base has been modified inplace"
NORMS = "_norm|BatchNorm|LayerNorm"
PRODUCTS = r"matmul|inner|\bmm\(|addmm|\bdot\(|linear|tensordot|einsum"
IN_A_PASS = f"modified by an inplace|{FORBIDDEN}|detached in-place|hook returned|does not require grad and does"
LEAPS = r"type_as|logical_not|atan2|\.log(2|10|1p)?\(|\*\* -"  # of bools, of what is near to 0, of zeros of two signs
REDUCTIONS = "amax|amin|sum|nansum|prod|var|std|norm|any|all|argmax|argmin"
JACOBIAN = "jacrev|jacfwd|hessian|jacobian"


CHANCE = Known("chance", "PyTorch gives something else every time: memory that nobody has written", lambda *_: False)
ROUNDED = Known("rounding beside draws", "only rounding, as shows where nothing is drawn", lambda *_: False)
CRASH = Known("crash", "PyTorch itself crashes on the program, or takes longer than a minute", lambda *_: False)
KNOWN = (
    Known(
        "versions in inference mode",
        "results computed from inference tensors count the inner writes of PyTorch's kernels, and show them as bases",
        lambda program, d: d.field in ("_version", "_base", "_is_view()") and anywhere(program, "inference_mode"),
    ),
    Known(
        "versions of gradients",
        "the engine adds in place to what C++ counts no other reference to",
        lambda program, d: d.field == "_version" and anywhere(program, r"\.grad\b"),
    ),
    Known(
        "empty views",
        "an empty slice may start beyond the memory, which NumPy cannot say, and no element is there",
        lambda program, d: d.field in ("storage_offset()", "shares memory with") and 0 in d.shape,
    ),
    Known(
        "second derivatives",
        "PyTorch has no derivative there, and torchlite has",
        lambda program, d: (
            d.stage == "gradients" and says(d.expected, "NotImplementedError|derivative for|not implemented for")
        ),
    ),
    Known(
        "negative views reshaped in place",
        "PyTorch replays what led to a view with bits without the change of shape, and may be wrong",
        lambda program, d: (
            anywhere(program, r"_neg_view|conj\(\)") and anywhere(program, r"squeeze_\(|transpose_\(|t_\(")
            and (d.stage == "gradients" or says(d.expected, "returned an invalid gradient"))
            and says(d.actual, "expanded size|invalid for input of size|match the broadcast shape|invalid gradient")
        ),
    ),
    Known(
        "squares of what tanh gives",
        "PyTorch's compiler rounds 1 - y * y once, and where the same is divided by, twice",
        lambda program, d: d.stage == "gradients" and anywhere(program, "tanh") and close(d, 1e-13),
    ),
    Known(
        "steps that reach nothing",
        "along a dimension of one element, or of a tensor of none, any step is as good; which one PyTorch's kernels "
        "leave there depends on views inside of them",
        lambda program, d: (
            d.field == "stride()" and (0 in d.shape or where_it_matters(d.shape, d.expected, d.actual))
        ),
    ),
    Known(
        "parts of a Jacobian",
        "jacrev and jacfwd hand out one of several views of a tensor, which PyTorch refuses to write to; torchlite's "
        "is a tensor of its own",
        lambda program, d: (
            (says(d.expected, "returns multiple views") and anywhere(program, JACOBIAN))
            or (d.field in (*OF_STEPS, *OF_MEMORY) and says(program[-1].line, JACOBIAN))
        ),
    ),
    Known(
        "nodes inside of transforms",
        "which ops a transform is made of shows in the last node, in counts of writes and in what results are views of",
        lambda program, d: (
            (d.field in (*OF_STEPS, *OF_MEMORY) and says(program[-1].line, TRANSFORM))
            or (d.stage == "told" and says(program[-1].line, "next_functions") and anywhere(program, TRANSFORM))
        ),
    ),
    Known(
        "zeros with a history",
        "what does not depend on an input has a gradient of zeros from PyTorch's transforms, and none from torchlite's",
        lambda program, d: (
            (d.field in ("requires_grad", "is_leaf") and says(program[-1].line, TRANSFORM))
            or (
                d.stage in ("gradients", "told") and d.actual is None and anywhere(program, TRANSFORM)
                and (all_zero(d) or anywhere(program, r"register_hook\(lambda grad: grad \+"))
            )
        ),
    ),
    Known(
        "empty batches",
        "PyTorch's vmap takes its first element to see what there is, and so has no batches of none",
        lambda program, d: says(
            d.expected, r"index 0 out of range for tensor of size \[(\d+, )*0\b|0 elements into shape \[0, -1\]"
        ),
    ),
    Known(
        "tangents of elements in one place",
        "a tangent has its primal's layout, and elements that lie in one place share it; what PyTorch makes of that "
        "depends on whether a function is a custom one",
        lambda program, d: (
            d.field == "values" and says(program[-1].line, "jacfwd|jvp|hessian") and takes_overlapping(program)
        ),
    ),
    Known(
        "elements in one place, seen from a transform",
        "PyTorch's transforms keep the strides of expanded tensors in results, which then cannot be written to",
        lambda program, d: (
            anywhere(program, r"torch\.func") and says(d.expected, "more than one element of the written-to tensor")
        ),
    ),
    Known(
        "elements in one place, written to",
        "PyTorch's kernels read again what they have just written there, as far as their vectors lie apart; torchlite "
        "has read all before",
        lambda program, d: d.field == "values" and writes_overlapping(program),
    ),
    Known(
        "tangents of a custom function's tangents",
        "PyTorch does not differentiate the `jvp` of a custom function once more by an outer jvp, and is wrong",
        lambda program, d: (
            (d.field == "values" or d.stage == "gradients")
            and anywhere(program, "(jvp|jacfwd|hessian).*jvp.*Double|Double.*jvp.*jvp")
        ),
    ),
    Known(
        "hooks on views that lead nowhere",
        "views made without gradients may say that they require grad, and others have a history that may not be asked "
        "for: PyTorch takes hooks on them, which never run, or crashes",
        lambda program, d: (
            says(d.actual, "Expected gradient function to be set")
            or (d.expected is None and says(program[-1].line, "register_hook") and says(d.actual, FORBIDDEN))
        ),
    ),
    Known(
        "views that may not be asked for",
        "a view made without gradients that says it requires grad is a leaf, whose history PyTorch refuses to look for "
        "once its base was written to; torchlite gives the leaf its gradient",
        lambda program, d: (
            d.stage == "gradients" and d.actual is None and says(d.expected, "A view was created in no_grad")
        ),
    ),
    Known(
        "steps of views made anew",
        "PyTorch makes the history of a view of complex parts anew step by step, torchlite by the strides it has now",
        lambda program, d: (
            d.stage == "told" and says(program[-1].line, "next_functions") and d.expected == ["AsStridedBackward0"]
            and anywhere(program, "real|imag")
        ),
    ),
    Known(
        "views with bits of what was detached",
        "PyTorch stumbles over its own checks where it looks for the history of one whose base has none any more",
        lambda program, d: (
            d.field in ("is_leaf", "grad_fn") and (d.expected is None or says(d.expected, "INTERNAL ASSERT FAILED"))
            and anywhere(program, r"detach_\(") and anywhere(program, "imag|_neg_view")
        ),
    ),
    Known(
        "gradients that hooks keep",
        "PyTorch adds to gradients in place, and does not see that a hook keeps another tensor over their memory",
        lambda program, d: (
            d.stage == "told" and d.field == "values" and anywhere(program, r"hook\(.*told\.append, mode")
        ),
    ),
    Known(
        "inference tensors that require grad",
        "outside of inference mode PyTorch goes around autograd for them, so that steps inside of its kernels are "
        "recorded, or refused",
        lambda program, d: (
            d.field
            in ("error", "error's text", "values", "dtype", "shape", "stride()", "requires_grad", "is_leaf", *OF_STEPS)
            and takes_inference(program)
        ),
    ),
    Known(
        "NaN in vectors",
        "PyTorch's gradients of functions with kinks take NaN for outside of a range where they are computed by "
        "vectors, and for inside elsewhere",
        lambda program, d: (
            d.stage == "gradients" and d.field == "values" and listed(d) and any(n != n for n in d.expected)
            and anywhere(program, "relu6|hardtanh|hardswish|shrink|elu")
        ),
    ),
    Known(
        "out= of composites with a history",
        "PyTorch gives what they write a node that only raises; torchlite refuses at once",
        lambda program, d: (
            "out=" in program[-1].line
            and (says(d.actual, "functions with out=") or says(d.expected, "::NotImplemented|setStorage: sizes"))
        ),
    ),
    Known(
        "out= resized over an operand",
        "PyTorch refuses what overlaps once it is resized, or reads what it has written; torchlite computes first",
        lambda program, d: (
            ("out=" in program[-1].line and d.actual is None and says(d.expected, "refer to a single memory location"))
            or (d.field == "values" and over_an_operand(program) and resizes(program))
        ),
    ),
    Known(
        "what is kept for backward, and in which order",
        "saved-tensor hooks see the tensors that PyTorch's kernels keep, where torchlite's formulas need others",
        lambda program, d: d.stage == "told" and anywhere(program, r"saved_tensors_hooks\(lambda t: told"),
    ),
    Known(
        "zeros of negated complex numbers",
        "PyTorch's vectors of complex numbers are negated, subtracted, squared to other signs of zero than the rest, "
        "which logarithms and roots show",
        lambda program, d: (
            d.field == "values" and listed(d) and anywhere(program, "complex")
            and anywhere(program, "neg|-v|- v|sub|square|conj|mH|adjoint")
            and (
                same_but_for_signs(d) or half_turns(d) or anywhere(program, r"\*\* -?\d*\.\d")
                or (d.stage == "gradients" and anywhere(program, "sqrt") and same_but_for_signs(finite(d)))
            )
        ),
    ),
    Known(
        "sizes of storages",
        "some of PyTorch's kernels leave memory behind what they give: of counted places, of the k largest, of losses",
        lambda program, d: (
            says(program[-1].line, "nonzero|argwhere|topk|_loss|fold|kthvalue|unique")
            and (d.field == "untyped_storage().nbytes()" or (d.field == "shares memory with" and 0 in d.shape))
        ),
    ),
    Known(
        "steps of compiled code",
        "numbers have nodes of other names there, and vectors become matrices in another way, which the last node, "
        "counts of writes and whether it is a view show",
        lambda program, d: numbered_otherwise(d) or (
            d.field in OF_STEPS
            and says(program[-1].line, r"trapezoid|pairwise|circular|scaled_dot|F\.linear|pool1d|rms_norm|conv\w*1d")
        ),
    ),
    Known(
        "a sixth in float32",
        "PyTorch's derivative of hardsigmoid divides by 6 in float32, for float64 too",
        lambda program, d: d.stage == "gradients" and anywhere(program, r"F\.hardsigmoid") and close(d, 1e-7),
    ),
    Known(
        "told of resized outs",
        "PyTorch resizes what it is given before it refuses a call, for what it finds as it computes",
        lambda program, d: (
            d.field == "warnings" and "out=" in program[-1].line and all_apart(d, "An output with one or more")
            and refused(program)
        ),
    ),
    Known(
        "outs that are cast to",
        "sums are computed in the dtype of out=, whose cast is told of before it is resized, and after it by PyTorch",
        lambda program, d: (
            d.field == "warnings" and says(program[-1].line, r"torch\.(cum)?(sum|prod|mean).*out=")
            and sorted(d.expected) == sorted(d.actual)
        ),
    ),
    Known(
        "pools of nothing",
        "PyTorch pools tensors without channels, and refuses their gradients",
        lambda program, d: says(d.expected, "Expected grad_output to have non-zero size for non-batch dimensions"),
    ),
    Known(
        "spectra of nothing",
        "the library behind PyTorch's transforms refuses some batches without elements",
        lambda program, d: says(d.expected, "MKL FFT error"),
    ),
    Known(
        "which write is told of",
        "where several tensors that a pass needs were written to, each library tells of the one it comes to first",
        lambda program, d: (
            d.field == "error's text"
            and all(says(said, "modified by an inplace operation|modified inplace") for said in (d.expected, d.actual))
        ),
    ),
    Known(
        "which error of a pass comes first",
        "where several things are wrong in a pass, each library tells of the first it comes to: nodes are numbered as "
        "they are made, and PyTorch's functions are made of other nodes",
        lambda program, d: (
            (d.stage == "gradients" or says(program[-1].line, r"autograd\.grad\(|backward\("))
            and says(d.expected, IN_A_PASS) and says(d.actual, IN_A_PASS)
        ),
    ),
    Known(
        "what an error leaves behind",
        "a call that is refused may have resized `out=`, or written the elements before the wrong one",
        lambda program, d: (
            d.field in ("values", "shape", "stride()", "untyped_storage().nbytes()", "storage_offset()")
            and says(program[-1].line, r"out=|index_fill_|index_add_|index_copy_|index_put_|\] ") and refused(program)
        ),
    ),
    Known(
        "noise kept before it is drawn",
        "saved-tensor hooks are shown rrelu's noise by PyTorch before there is any, so that a copy has none",
        lambda program, d: d.stage == "gradients" and anywhere(program, "F.rrelu.*training=True") and packed(program),
    ),
    Known(
        "what is packed for a call that is refused",
        "PyTorch packs operands before a kernel looks at them, so that hooks may warn of what comes to nothing",
        lambda program, d: d.field == "warnings" and says(program[-1].mode, "saved_tensors_hooks") and refused(program),
    ),
    Known(
        "what formulas keep, detached or changed through .data",
        "a formula shows that if it keeps the very tensor; those of PyTorch's transforms and composites keep others",
        lambda program, d: (
            d.stage == "gradients"
            and (
                (d.field == "values" and anywhere(program, r"\.data\.mul_"))
                or (tells_of_detached(d) and anywhere(program, rf"{TRANSFORM}|cosine_similarity|F\.linear"))
            )
        ),
    ),
    Known(
        "complex gradients of real operands",
        "PyTorch's engine stumbles over gradients that are complex, or of integers, where an operand is neither",
        lambda program, d: says(d.expected, r"isFloatingType\(grad|isDifferentiableType\(grad"),
    ),
    Known(
        "numbers as C++ prints them",
        "some errors show a tensor, which PyTorch prints in C++'s way",
        lambda program, d: d.field == "error's text" and says(d.expected, "Expected 0D or 1D tensor in the tensor"),
    ),
    Known(
        "sizes that are not there",
        "PyTorch tells of a 0-dim tensor's first size, which is whatever its memory held before",
        lambda program, d: (
            d.field == "error's text"
            and says(d.expected, "index .* is out of bounds for dimension 0 with size [1-9]")
            and says(d.actual, "index .* is out of bounds for dimension 0 with size 0")
        ),
    ),
    Known(
        "attention of nothing",
        "PyTorch does not look at how many features queries and keys have where a result has no elements",
        lambda program, d: (
            d.expected is None and says(program[-1].line, "F.scaled_dot") and says(d.actual, "cannot be multiplied")
        ),
    ),
    Known(
        "factors of nothing",
        "LAPACK takes no halves, and no integers: PyTorch says so only where a matrix has elements",
        lambda program, d: (
            d.expected is None
            and says(d.actual, r'"(lu|linalg_eigh|linalg_svd|cholesky|ldl_factor_kernel)_cpu" not implemented for')
        ),
    ),
    Known(
        "gradients of nothing",
        "PyTorch's cummax and cummin give an operand without elements itself as its gradient",
        lambda program, d: (
            d.stage == "told" and d.field == "requires_grad" and 0 in d.shape and anywhere(program, "cummax|cummin")
        ),
    ),
    Known(
        "ties among the largest",
        "which of equal elements topk gives depends on how it is sorted",
        lambda program, d: (
            d.field == "values" and says(program[-1].line, r"\.topk\(") and listed(d) and tied(program, d)
        ),
    ),
    Known(
        "pulled back in inference mode",
        "what PyTorch's vjp pulls back is recorded there too, which nothing that it is made of is",
        lambda program, d: (
            says(program[-1].mode, "inference") and says(program[-1].line, r"func\.vjp")
            and says(d.expected, "element 0 of tensors does not require grad")
        ),
    ),
    Known(
        "reduced into one place",
        "PyTorch does not look whether elements of out= lie in one place where it reduces, and reduces all into that",
        lambda program, d: (
            d.expected is None and says(d.actual, "more than one element of the written-to tensor")
            and says(program[-1].line, rf"torch\.({REDUCTIONS})\(.*out=")
        ),
    ),
    Known(
        "blocks of nothing",
        "gradients of block_diag count no row for a vector without elements, which has one in the result",
        lambda program, d: (
            d.stage == "gradients" and d.field == "values" and says(program[-1].line, "block_diag")
            and any(t.dim() == 1 and not t.numel() for t in taken(program))
        ),
    ),
    Known(
        "places in nothing",
        "PyTorch's index_fill shows the memory that it fills, of which there is none, before it looks at places",
        lambda program, d: says(program[-1].line, "index_fill") and says(d.expected, "setStorage: sizes"),
    ),
    Known(
        "names of C's types",
        "types made in C have their module in CPython's own errors, those made in Python do not",
        lambda program, d: d.field == "error's text" and says(d.expected, "'torch.return_types"),
    ),
    Known(
        "kept by hooks, and then overwritten",
        "hooks that keep a tensor itself, as save_on_cpu does on the CPU, leave it to be overwritten, which PyTorch "
        "refuses without them; what comes of it depends on what formulas keep",
        lambda program, d: d.stage == "gradients" and anywhere(program, "save_on_cpu") and overwritten(program),
    ),
    Known(
        "bytes told of any and all",
        "PyTorch converts numbers to bytes first where bytes are to be written to, so that 0.5 is nothing",
        lambda program, d: (
            d.field == "values" and says(program[-1].line, r"torch\.(any|all)\(.*out=") and anywhere(program, "uint8")
        ),
    ),
    Known(
        "elements that differ in nothing",
        "the mean of equal numbers is one of them; in PyTorch, it may be off by rounding, and their variance not 0",
        lambda program, d: (
            (d.field == "values" and listed(d) and anywhere(program, f"{NORMS}|corrcoef") and nothing_instead(d))
            or (d.stage == "gradients" and anywhere(program, NORMS) and close(d, 3e-5))
        ),
    ),
    Known(
        "layouts of batches",
        "PyTorch's vmap, which makes Jacobians too, leaves a batch where it is or brings it to the front, op by op; "
        "torchlite brings it",
        lambda program, d: d.field == "stride()" and says(program[-1].line, rf"vmap\(|{JACOBIAN}") and permuted(d),
    ),
    Known(
        "layouts of real parts",
        "what comes back to a real operand of a transform is complex, and the half of it that is real, or a copy",
        lambda program, d: (
            d.field == "stride()" and listed(d) and d.expected == [2 * n for n in d.actual]
            and (says(program[-1].line, TRANSFORM) or (d.stage == "told" and anywhere(program, TRANSFORM)))
        ),
    ),
    Known(
        "gradients row by row",
        "gradients are computed on bare arrays, which lie row by row where the orders of operands contradict each "
        "other, and in products; PyTorch's lie as the first operand, or the matrix, does",
        lambda program, d: (
            d.field == "stride()" and permuted(d)
            and (row_by_row(d) or (d.stage == "told" and anywhere(program, PRODUCTS)))
            and (d.stage != "values" or says(program[-1].line, f"{TRANSFORM}|grad"))
        ),
    ),
    Known(
        "negative views as numbers",
        "PyTorch assigns what is in the memory of a negative view of one number, not the number",
        lambda program, d: (
            d.field == "values" and listed(d) and anywhere(program, "_neg_view") and same_but_for_signs(d)
        ),
    ),
    Known(
        "jumps of what is rounded",
        "numbers that were to be certain, or are compared, have been rounded in other ways on their way there",
        lambda program, d: (
            d.field == "values" and (CERTAIN.search(program[-1].op) or says(program[-1].line, f"x > 0|{LEAPS}"))
            and operands_differ(program)
        ),
    ),
    Known(
        "shapes changed behind a graph's back",
        "a leaf that is given another shape without gradients keeps the old one in PyTorch's graphs for as long as one "
        "is alive, and a node's result its own; torchlite's leaves have the shape they have",
        lambda program, d: (
            (d.stage == "gradients" or any(says(said, "an invalid gradient") for said in (d.expected, d.actual)))
            and reshapes_unrecorded(program)
        ),
    ),
    Known(
        "layouts of convolutions",
        "steps along dimensions of one element let PyTorch take rows for channels, and lay out results so",
        lambda program, d: d.field == "stride()" and says(program[-1].line, r"conv\w*1d|Conv1d|adaptive_avg_pool1d"),
    ),
    Known(
        "complex32",
        "torchlite has no complex numbers of float16",
        lambda program, d: (
            says(d.actual, r"no tensors of torch\.complex32|ComplexHalf|complex_cpu\W not implemented for 'Half'")
            or (d.field == "warnings" and all_apart(d, "ComplexHalf"))
        ),
    ),
    Known(
        "nodes of leaves in inference mode",
        "to find a leaf's node, PyTorch makes a view of it, which has none there",
        lambda program, d: says(d.expected, "'NoneType' object has no attribute 'next_functions'"),
    ),
    Known(
        "huber losses of two dtypes",
        "PyTorch has no backward for them",
        lambda program, d: says(d.expected, "Found dtype") and anywhere(program, "huber_loss"),
    ),
    Known(
        "halves of the other kind under autocast",
        "PyTorch refuses float16 where autocast is to bfloat16, and the other way about, in what joins tensors",
        lambda program, d: says(d.expected, "Unexpected floating ScalarType in at::autocast::prioritize"),
    ),
    Known(
        "zeros without memory",
        "PyTorch cannot add to the gradients that functions like sgn have everywhere, which stay zero times NaN too",
        lambda program, d: (
            says(d.expected, "ZeroTensors are immutable|on an invalid python storage")
            or (d.stage == "gradients" and d.field == "values" and anywhere(program, "sgn") and nan_for_zero(d))
        ),
    ),
    Known(
        "negative views in inference mode",
        "PyTorch computes the numbers behind the bit there before functions that hand their operand on are asked",
        lambda program, d: (
            d.field in ("is_inference()", "requires_grad", "is_leaf", "bits", "is", *OF_STEPS, *OF_MEMORY)
            and says(program[-1].mode, "inference") and anywhere(program, "_neg_view|imag")
        ),
    ),
    Known(
        "products of infinite complex numbers",
        "what is infinite and what is NaN depends on the order in which BLAS adds up the parts, one of which is NaN",
        lambda program, d: (
            d.field == "values" and anywhere(program, "complex") and anywhere(program, PRODUCTS) and nan_for_infinity(d)
        ),
    ),
    Known(
        "where nodes of leaves were made",
        "torchlite makes a leaf's node when it is asked for, PyTorch when the leaf is first used; anomaly mode tells",
        lambda program, d: (
            d.field == "warnings" and says(program[-1].mode, "anomaly")
            and says(" ".join(d.expected), "Error detected in torch::autograd::AccumulateGrad")
        ),
    ),
    Known(
        "roots of -0.0 in float16",
        "PyTorch takes the root of float16 numbers as a power, whose signs of zero and infinity are others",
        lambda program, d: (
            d.field == "values" and listed(d) and anywhere(program, r"\*\* -?0\.5") and same_but_for_signs(d)
        ),
    ),
)


def explanation(program: Program, difference: Difference) -> Known | None:
    """The first entry that explains a difference."""
    return next((known for known in KNOWN if known.explains(program, difference)), None)


CAUSES = {known.name: known.cause for known in (CHANCE, ROUNDED, CRASH, *KNOWN)}
