"""The lines that random programs are made of, by family: lines of Python with holes.

A row is an op as a user would write it. What may stand in a hole is told by its name (see `holes.py`); digits only tell
two holes of a kind apart. The holes of a row are filled from left to right, and a later one may look at the operands
chosen before it: `{dim}` is a dimension of the first operand, `{b}` broadcasts with it.

Ops that jump (comparisons, rounding, sorting, conversion to integers) take `{exact}` operands, whose values are the
same bits in any sound implementation, so that a difference in the last place is never blown up.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """Rows of one kind: how often they are drawn, and whether a row's value gets a name or it is a statement."""

    weight: int
    binds: bool
    rows: tuple[str, ...]


def expressions(weight: int, rows: str) -> Family:
    return Family(weight, True, tuple(row.strip() for row in rows.strip().splitlines()))


def statements(weight: int, rows: str) -> Family:
    return Family(weight, False, tuple(row.strip() for row in rows.strip().splitlines()))


ROOTS = expressions(
    0,
    """
    torch.tensor({data}, dtype=torch.float64, requires_grad=True)
    torch.tensor({data}, dtype=torch.float64, requires_grad=True)
    torch.tensor({data}, dtype=torch.float64, requires_grad=True)
    torch.tensor({data}, requires_grad=True)
    torch.tensor({data}, dtype=torch.complex64, requires_grad=True)
    torch.tensor({data}, dtype=torch.float64)
    """,
)

LEAVES = expressions(
    0,
    """
    torch.tensor({data}, dtype=torch.float64, requires_grad=True)
    torch.tensor({data}, dtype=torch.float64)
    torch.tensor({data}, requires_grad=True)
    torch.tensor({data})
    torch.tensor({integers})
    torch.tensor({booleans})
    torch.tensor({data}, dtype=torch.complex64)
    """,
)

# Leaves cannot be changed in place, so every program gets something differentiable that can.
TRUNKS = expressions(
    0,
    """
    {differentiable}.clone()
    {differentiable} * 1.5
    {differentiable}.sin()
    {differentiable} + {b}
    {differentiable}.unsqueeze(0) * {b}
    """,
)

FAMILIES = {
    "creation": expressions(
        3,
        """
        torch.zeros({size})
        torch.zeros({size}, dtype={dtype}, requires_grad=True)
        torch.ones({size}, dtype={dtype})
        torch.full({size}, {number})
        torch.full({size}, {number}, dtype={dtype})
        torch.arange({count})
        torch.arange({int}, {count}, dtype={dtype})
        torch.arange({number}, {float})
        torch.linspace({float}, {float1}, {count})
        torch.eye({count})
        torch.eye({count}, {count1}, dtype={dtype})
        torch.tensor({number})
        torch.tensor({number}, dtype={dtype})
        torch.zeros_like({a})
        torch.ones_like({a}, dtype={dtype})
        torch.full_like({a}, {number})
        torch.zeros_like({inexact}, requires_grad=True)
        torch.as_tensor({a})
        torch.complex({real}, {same})
        torch.tril_indices({count}, {count1})
        {a}.new_zeros({size})
        {a}.new_ones({size}, requires_grad={flag})
        {a}.new_full({size}, {number})
        {resolved}.new_tensor({number})
        """,
    ),
    "unary": expressions(
        7,
        """
        -{a}
        {a}.abs()
        {a}.square()
        {a}.sin()
        {a}.cos()
        {a}.tanh()
        {a}.sigmoid()
        {a}.exp()
        {a}.sgn()
        {a}.reciprocal()
        {inexact}.log()
        {inexact}.sqrt()
        {inexact}.abs().sqrt()
        {inexact}.angle()
        {real}.relu()
        {real}.atan()
        {real}.asinh()
        {real}.erf()
        {real}.expm1()
        {real}.abs().log1p()
        {real}.exp2()
        {real}.abs().log2()
        {real}.rsqrt()
        {real}.sinh()
        {real}.cosh()
        {real}.nan_to_num()
        {real}.clamp({float}, {float1})
        {real}.clamp(min={number})
        {real}.clamp_max({number})
        {exact}.sign()
        {exact}.floor()
        {exact}.ceil()
        {exact}.round()
        {exact}.round(decimals=1)
        {exact}.trunc()
        {exact}.frac()
        {exact}.heaviside({same})
        {a}.isnan()
        {real}.isfinite()
        {exact}.logical_not()
        ~{discrete}
        torch.sin({a})
        torch.neg({a})
        torch.tanh({a})
        torch.relu({real})
        torch.sigmoid({a})
        torch.threshold({real}, {float}, {float1})
        """,
    ),
    "binary": expressions(
        11,
        """
        {a} + {b}
        {a} - {b}
        {a} * {b}
        {a} / {b}
        {a} * {a}
        {a} + {number}
        {a} * {number}
        {a} / {number}
        {number} - {a}
        {number} / {a}
        {a} ** 2
        {a} ** {int}
        {inexact} ** {float}
        2 ** {real}
        {float} ** {real}
        {inexact}.abs() ** {b}
        {exact} // {exact1}
        {exact} % {exact1}
        {exact} // {number}
        {exact} % {number}
        {exact}.fmod({exact1})
        {exact} == {exact1}
        {exact} < {exact1}
        {exact} >= {number}
        {exact} != {number}
        {exact}.logical_and({exact1})
        {exact}.logical_xor({exact1})
        {discrete} & {discrete1}
        {discrete} | {discrete1}
        {discrete} ^ {int}
        {integer} << {shift}
        {integer} >> {shift}
        torch.add({a}, {b}, alpha={number})
        torch.sub({a}, {number}, alpha={int})
        torch.rsub({a}, {b})
        torch.mul({a}, {b})
        torch.div({a}, {b})
        torch.div({exact}, {exact1}, rounding_mode="floor")
        torch.div({exact}, {exact1}, rounding_mode="trunc")
        torch.maximum({real}, {b})
        torch.minimum({real}, {b})
        torch.atan2({real}, {b})
        torch.hypot({real}, {same})
        torch.logaddexp({real}, {same})
        torch.where({mask}, {b}, {b1})
        torch.where({exact} > 0, {b}, {number})
        torch.lerp({inexact}, {same}, {float})
        torch.addcmul({inexact}, {same}, {same1}, value={float})
        torch.addcdiv({inexact}, {same}, {divisor})
        {real}.clamp(min={same})
        {a}.masked_fill({mask_of}, {number})
        {inexact}.masked_fill({mask_of}, {scalar_of})
        torch.cdist({matrix}, {row})
        """,
    ),
    "reduction": expressions(
        7,
        """
        {a}.sum()
        {a}.sum({dim})
        {a}.sum({dims}, keepdim={flag})
        {a}.sum({dim}, dtype={dtype})
        {inexact}.mean()
        {inexact}.mean({dim}, keepdim={flag})
        {inexact}.mean({dims})
        {a}.prod()
        {a}.prod({dim}, keepdim={flag})
        {real}.amax({dims}, keepdim={flag})
        {real}.amin({dims})
        {real}.max()
        {real}.min()
        {exact}.max({dim})
        {exact}.min({dim}, keepdim={flag})
        {exact}.argmax()
        {exact}.argmin({dim}, keepdim={flag})
        {exact}.aminmax()
        {real}.var({dim}, keepdim={flag})
        {real}.var({dims}, correction=0)
        {real}.std()
        torch.var_mean({real}, {dim})
        {inexact}.norm()
        {real}.norm(dim={dims})
        {real}.norm(p=1, dim={dim}, keepdim={flag})
        {real}.logsumexp({dims}, keepdim={flag})
        {real}.softmax({dim})
        {real}.log_softmax({dim})
        {array}.cumsum({dim})
        {array}.cumprod({dim})
        {exact}.cummax({dim})
        {real}.logcumsumexp({dim})
        {exact}.any()
        {exact}.all({dim}, keepdim={flag})
        {exact}.count_nonzero()
        {exact}.count_nonzero({dim})
        {real}.nansum({dim})
        torch.diff({a}, dim={dim})
        torch.trace({matrix})
        """,
    ),
    "view": expressions(
        20,
        """
        {a}.reshape({shape})
        {a}.view({shape})
        {a}.reshape(-1)
        {a}.view_as({reshaped})
        {a}.flatten()
        {array}.flatten({dim})
        {a}.t()
        {a}.T
        {plane}.mT
        {a}.transpose({dim}, {dim1})
        {a}.permute({order})
        {a}.movedim({dim}, {dim1})
        {a}.squeeze()
        {a}.squeeze({dim})
        {a}.unsqueeze({newdim})
        {a}.expand({wider})
        {a}.expand_as({wide})
        {a}.broadcast_to({wider})
        {array}.narrow({narrow})
        {array}.select({element})
        {plane}.diagonal()
        {plane}.diagonal({int}, {dim}, {dim1})
        {array}.unfold({window})
        {a}.as_strided({strided})
        {a}.as_strided({strided})
        {array}.chunk({parts}, {dim})
        {array}.split({parts}, {dim})
        {array}.split({sections})
        {array}.tensor_split({parts}, {dim})
        {array}.unbind({dim})
        {array}[{index}]
        {array}[{index}]
        {array}[{index}]
        {a}.unflatten({unflat})
        {a}.detach()
        {a}.data
        {complex}.real
        {complex}.imag
        {a}.conj()
        {complex}.conj()
        {complex}.conj().imag
        {plane}.mH
        {inexact}._neg_view()
        torch.view_as_real({complex})
        {a}.view_as({a})
        torch.broadcast_tensors({a}, {b})
        torch.meshgrid({vector}, {vector1}, indexing="ij")
        torch.atleast_2d({a})
        """,
    ),
    "shape": expressions(
        6,
        """
        {a}.clone()
        {a}.contiguous()
        {a}.to({dtype})
        {exact}.long()
        {exact}.bool()
        {a}.double()
        {a}.float()
        {a}.type_as({b})
        {a}.flip({dims})
        {a}.roll({int}, {dim})
        {a}.repeat({repeats})
        {a}.tile({repeats})
        {a}.repeat_interleave({parts}, {dim})
        {plane}.tril({int})
        {plane}.triu()
        {a}.diag_embed()
        {plane}.rot90()
        torch.diag({matrix}, {int})
        torch.cat([{a}, {beside}])
        torch.cat([{a}, {a}], {dim})
        torch.stack([{a}, {twin}], {newdim})
        torch.hstack([{a}, {twin}])
        torch.vstack([{a}, {twin}])
        torch.where({exact} > 0, {b}, {b1})
        torch.cartesian_prod({vector}, {vector1})
        """,
    ),
    "index": expressions(
        6,
        """
        {array}[{fancy}]
        {array}[{fancy}]
        {a}[{mask_of}]
        {a}.index_select({pick})
        {a}.gather({gather})
        {a}.take(torch.tensor({positions}))
        {a}.take_along_dim(torch.tensor({positions}))
        {a}.masked_select({mask})
        {exact}.nonzero()
        {exact}.argwhere()
        {inexact}.index_add({pick}, {picked})
        {inexact}.index_fill({pick}, {number})
        {inexact}.scatter({gather}, {number})
        {inexact}.masked_scatter({mask_of}, {same})
        """,
    ),
    "matmul": expressions(
        7,
        """
        {tensor} @ {right}
        {matrix} @ {right}
        {vector} @ {right}
        torch.matmul({tensor}, {right})
        torch.mm({matrix}, {right})
        torch.mv({matrix}, {right_vector})
        torch.dot({vector}, {twin})
        torch.outer({vector}, {vector1})
        torch.inner({tensor}, {twin})
        torch.tensordot({tensor}, {twin}, dims={overlap})
        torch.einsum("ij,kj->ik", {matrix}, {row})
        torch.einsum("...i,...i->...", {tensor}, {twin})
        torch.einsum("ij->ji", {matrix})
        {matrix}.matmul({matrix}.t())
        {matrix}.t() @ {matrix}
        torch.addmm({scalar}, {matrix}, {right}, beta={number}, alpha={number1})
        torch.addmv({scalar}, {matrix}, {right_vector})
        torch.bmm({matrix}.expand(2, -1, -1), {right}.expand(2, -1, -1))
        torch.kron({tensor}, {vector})
        """,
    ),
    "sorting": expressions(
        3,
        """
        {exact}.sort(dim={dim}, stable=True)
        torch.sort({exact}, dim={dim}, descending=True, stable=True)
        {exact}.argsort(dim={dim}, stable=True)
        torch.argsort({exact}, dim={dim}, descending=True, stable=True)
        {exact}.msort()
        {distinct}.sort({dim}, {flag})
        {distinct}.topk({parts})
        {distinct}.topk({parts}, largest=False)
        {distinct}.kthvalue({parts})
        {distinct}.median()
        {distinct}.median({dim})
        {exact}.unique()
        {exact}.unique(return_inverse=True, return_counts=True)
        torch.searchsorted({vector}.detach().sort().values, {exact})
        torch.bucketize({exact}, torch.tensor([-1.0, 0.0, 1.0]))
        torch.isin({exact}, {exact1}.flatten())
        """,
    ),
    "question": expressions(
        2,
        """
        {a}.is_conj()
        {a}.is_neg()
        {complex}.resolve_conj().is_conj()
        {exact}.tolist()
        {scalar}.item()
        {a}.shape
        {a}.size({dim})
        {a}.numel()
        {a}.is_contiguous()
        {a}.sum().item()
        len({a})
        repr({exact})
        bool({exact}.any())
        float({scalar})
        torch.equal({exact}, {exact1})
        torch.allclose({inexact}, {same})
        torch.is_floating_point({a})
        torch.result_type({a}, {b}) == {dtype}
        torch.promote_types({dtype}, {dtype1}) == {dtype2}
        torch.can_cast({dtype}, {dtype1})
        """,
    ),
    "in-place": statements(
        24,
        """
        {target} += {into}
        {target} -= {into}
        {target} *= {into}
        {real_target} /= {into}
        {target} *= {number}
        {target}.add_({into})
        {target}.add_({number})
        {target}.add_({into}, alpha={int})
        {target}.sub_({into})
        {target}.mul_({into})
        {target}.mul_({number})
        {real_target}.div_({into})
        {target}.pow_(2)
        {target}.neg_()
        {real_target}.sin_()
        {real_target}.tanh_()
        {real_target}.sigmoid_()
        {real_target}.exp_()
        {target}.abs_()
        {real_target}.relu_()
        {target}.clamp_({float}, {float1})
        {target}.zero_()
        {target}.fill_({number})
        {target}.fill_({scalar_of})
        {target}.copy_({into})
        {target}.copy_({into})
        {real_target}.lerp_({fellow}, {float})
        {target}.addcmul_({fellow}, {fellow1})
        {target}.masked_fill_({mask_of}, {number})
        {target}.masked_fill_({mask_of}, {scalar_of})
        {target}.index_fill_({pick}, {number})
        {target}.index_add_({pick}, {picked})
        {target}.index_copy_({pick}, {picked})
        {target}.scatter_({gather}, {number})
        {target}.scatter_add_({gather}, torch.ones({gathered}, dtype={target}.dtype))
        {array_target}.cumsum_({dim})
        {reshapable}.squeeze_()
        {reshapable}.unsqueeze_({newdim})
        {reshapable}.t_()
        {reshapable}.transpose_({dim}, {dim1})
        {plane_target}.tril_()
        {target}.logical_not_()
        {target}.T.mul_({number})
        {target}.view(-1).add_({number})
        {target}.reshape(-1).mul_({number})
        {array_target}.unbind({dim})[0].mul_({number})
        {array_target}.chunk(2, {dim})[0].mul_({number})
        {counted}.detach().add_({number})
        {counted}.data.mul_({number})
        {target}.expand({wider}).add_(1)
        {plane_target}.diagonal().zero_()
        {target}.unfold({tiles}).mul_(2)
        {array_target}[{index}].mul_({number})
        {array_target}[{index}].copy_({scalar_of})
        torch.add({a}, {number}, out={twin})
        torch.mul({a}, {twin}, out={twin1})
        """,
    ),
    "assignment": statements(
        12,
        """
        {array_target}[{index}] = {number}
        {array_target}[{index}] = {value}
        {array_target}[{index}] = {value}
        {array_target}[{index}] += {value}
        {array_target}[{index}] *= {number}
        {array_target}[{fancy}] = {number}
        {array_target}[{fancy}] = {value}
        {array_target}[{fancy}] += {number}
        {array_target}[{mask_of}] = {number}
        {array_target}[{mask_of}] = {scalar_of}
        {apart_target}.index_put_((torch.tensor({rows}),), {scalar_of}, accumulate={flag})
        """,
    ),
    "autograd": statements(
        3,
        """
        {a}.requires_grad_()
        {a}.requires_grad_(False)
        {a}.detach_()
        {retainable}.retain_grad()
        {differentiable}.sum().backward(retain_graph=True)
        {leaf}.grad = None
        del {name}
        """,
    ),
    "gradient": expressions(
        2,
        """
        torch.autograd.grad({differentiable}.sum(), {leaf}, create_graph=True)[0].contiguous().clone()
        torch.autograd.grad(({differentiable} * {same}).sum(), {leaf}, create_graph=True)[0].contiguous().clone()
        {leaf}.grad
        """,
    ),
}

MODES = ("torch.no_grad()", "torch.no_grad()", "torch.no_grad()", "torch.inference_mode()")
