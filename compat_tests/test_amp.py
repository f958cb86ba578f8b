"""Mixed precision: what autocast casts on the CPU, regions in regions, custom Functions, and the scaling of losses."""

from __future__ import annotations

import pytest

from compat_tests.side_by_side import same_story

# Each takes the library and a function that makes tensors of a shape.
CALLS = {
    "mm": lambda t, m: m(2, 3).mm(m(3, 2)),
    "matmul": lambda t, m: m(2, 3) @ m(3),
    "batches": lambda t, m: t.matmul(m(2, 2, 3), m(2, 3, 2)),
    "bmm": lambda t, m: t.bmm(m(2, 2, 3), m(2, 3, 2)),
    "addmm": lambda t, m: t.addmm(m(2, 2), m(2, 3), m(3, 2)),
    "baddbmm": lambda t, m: t.baddbmm(m(2, 2, 2), m(2, 2, 3), m(2, 3, 2)),
    "addbmm": lambda t, m: t.addbmm(m(2, 2), m(2, 2, 3), m(2, 3, 2)),
    "einsum": lambda t, m: t.einsum("ij,jk->ik", m(2, 3), m(3, 2)),
    "tensordot": lambda t, m: t.tensordot(m(2, 3), m(3, 2), 1),
    "dot": lambda t, m: t.dot(m(3), m(3)),
    "mv": lambda t, m: t.mv(m(2, 3), m(3)),
    "outer": lambda t, m: t.outer(m(3), m(3)),
    "linear": lambda t, m: t.nn.functional.linear(m(2, 3), m(4, 3), m(4)),
    "conv2d": lambda t, m: t.nn.functional.conv2d(m(1, 2, 5, 5), m(3, 2, 3, 3), m(3)),
    "conv_transpose1d": lambda t, m: t.nn.functional.conv_transpose1d(m(1, 2, 5), m(2, 3, 3)),
    "prelu": lambda t, m: t.nn.functional.prelu(m(2, 3), m(1)),
    "add": lambda t, m: m(3) + m(3),
    "exp": lambda t, m: m(3).exp(),
    "softmax": lambda t, m: t.softmax(m(2, 3), 1),
    "layer_norm": lambda t, m: t.nn.functional.layer_norm(m(2, 3), (3,)),
    "relu": lambda t, m: t.relu(m(3)),
    "sum": lambda t, m: m(3).sum(),
    "prod": lambda t, m: m(3).prod(),
    "trace": lambda t, m: m(3, 3).trace(),
    "cdist": lambda t, m: t.cdist(m(2, 3), m(4, 3)),
    "cat": lambda t, m: t.cat([m(2), m(2)]),
    "cat of several": lambda t, m: t.cat([m(2), m(2).half(), m(2).bfloat16()]),
    "stack of several": lambda t, m: t.stack([m(2), m(2).float()]),
    "mse_loss": lambda t, m: t.nn.functional.mse_loss(m(3), m(3)),
    "l1_loss": lambda t, m: t.nn.functional.l1_loss(m(3), m(3)),
    "smooth_l1_loss": lambda t, m: t.nn.functional.smooth_l1_loss(m(3), m(3)),
    "cross_entropy": lambda t, m: t.nn.functional.cross_entropy(m(2, 3), t.tensor([0, 2])),
    "nll_loss": lambda t, m: t.nn.functional.nll_loss(m(2, 3), t.tensor([0, 2])),
    "binary_cross_entropy": lambda t, m: t.nn.functional.binary_cross_entropy_with_logits(m(3), m(3)),
    "kl_div": lambda t, m: t.nn.functional.kl_div(m(3), m(3), reduction="sum"),
    "in place": lambda t, m: m(2, 2).clone().mul_(2),
}


@pytest.mark.parametrize("call", CALLS)
def test_which_precision_ops_compute_in(call):
    @same_story
    def program(torch, tell):
        for lower in (torch.bfloat16, torch.float16):
            for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):

                def make(*shape, dtype=dtype):
                    return torch.full(shape, 0.5, dtype=dtype)

                with torch.autocast("cpu", dtype=lower):
                    try:
                        tell(str(lower), str(dtype), str(CALLS[call](torch, make).dtype))
                    except RuntimeError:
                        tell(str(lower), str(dtype), "refused")

    program()


@same_story
def test_cross_entropy_computes_in_float32(torch, tell):
    logits = torch.tensor([[0.3, 1.7, -0.9], [2.1, 0.2, 0.4]], dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu"):
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 2]))
    loss.backward()
    tell(loss, logits.grad, loss.grad_fn.next_functions[0][0])


@same_story
def test_regions(torch, tell):
    x, w = torch.ones(2, 2), torch.full((2, 2), 0.5, requires_grad=True)
    tell(torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu")), torch.is_autocast_cache_enabled())
    with torch.autocast("cpu", dtype=torch.float16):
        tell(torch.is_autocast_enabled("cpu"), str((x @ w).dtype), str(torch.get_autocast_dtype("cpu")))
        with torch.autocast("cpu", enabled=False):
            tell(torch.is_autocast_enabled("cpu"), str((x @ w).dtype))
        with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
            tell(str((x @ x).dtype))
        y = x @ w
        tell(y.grad_fn.next_functions[1][0] is (x @ w).grad_fn.next_functions[1][0])
    (y.float() * 2).sum().backward()
    tell(w.grad, torch.is_autocast_enabled("cpu"))

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def decorated(a):
        return a @ a

    tell(str(decorated(x).dtype))


@same_story
def test_what_is_refused(torch, tell):
    def entered(context):
        with context:  # and left, lest later tests run inside
            return None

    for wrong in (
        lambda: torch.autocast(3),
        lambda: entered(torch.autocast("cpu", dtype=torch.float64)),
        lambda: torch.autocast("cpu", dtype=torch.float64)._enabled,
        lambda: torch.cuda.amp.autocast()._enabled,
        lambda: torch.amp.GradScaler().is_enabled(),
        lambda: torch.amp.GradScaler("cpu", growth_factor=1.0),
        lambda: torch.amp.GradScaler("cpu", backoff_factor=1.0),
    ):
        try:
            found = wrong()
        except Exception as error:
            tell(error)
        else:
            tell(found if isinstance(found, bool) else "accepted")


@same_story
def test_custom_functions(torch, tell):
    def define(cast_inputs):
        class Product(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
            def forward(ctx, a, b):
                tell(torch.is_autocast_enabled("cpu"), str(a.dtype))
                ctx.save_for_backward(a, b)
                return a @ b

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx, g):
                a, b = ctx.saved_tensors
                tell(torch.is_autocast_enabled("cpu"), str(g.dtype))
                return g @ b.t(), a.t() @ g

        return Product

    for cast_inputs in (None, torch.float32):
        a, b = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = define(cast_inputs).apply(a, b)
        tell(str(y.dtype))
        y.float().sum().backward()
        tell(a.grad, b.grad)


@same_story
def test_losses_are_scaled_and_gradients_unscaled(torch, tell):
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    for attempt in (lambda: scaler.step(optimizer), scaler.update, lambda: scaler.unscale_(optimizer)):
        try:
            attempt()
        except AssertionError as error:
            tell(error)
    for factor in (1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0):
        optimizer.zero_grad()
        (scaler.scale(p.sum()) * factor).backward()
        scaler.unscale_(optimizer)
        tell(p.grad)
        scaler.step(optimizer)
        scaler.update()
        tell(p, scaler.get_scale(), scaler.state_dict())
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    for attempt in (lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer)):
        try:
            attempt()
        except RuntimeError as error:
            tell(error)
    scaler.update(2.0)
    tell(scaler.scale([torch.ones(1), (torch.ones(2),)]))
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    tell(other.state_dict(), torch.amp.GradScaler("cpu", enabled=False).state_dict())


@pytest.mark.parametrize(
    "kind", ["cpu", "xpu", "mps", "ipu", "hpu", "mtia", "maia", "xla", "hip", "meta", "lazy", "privateuseone"]
)
def test_regions_for_devices_that_there_are_not(kind):
    """Scripts open regions for the device that they would like; on others these change nothing."""

    @same_story
    def program(torch, tell):
        def tried(call):
            try:
                tell(call())
            except (RuntimeError, AssertionError) as error:
                tell(type(error).__name__, str(error).splitlines()[0])

        for options in ({}, {"enabled": False}, {"dtype": torch.bfloat16}, {"dtype": torch.float32}):

            def region(options=options):
                with torch.autocast(kind, **options):
                    return torch.is_autocast_enabled(kind), (torch.ones(2, 2) @ torch.ones(2, 2)).dtype

            tried(region)
        tried(lambda: torch.get_autocast_dtype(kind))
        tried(lambda: torch.is_autocast_enabled(kind))

    program()


@same_story
def test_what_is_no_flag_does_not_open_a_region(torch, tell):
    for options in ({"enabled": 3}, {"enabled": None}, {"cache_enabled": "a"}):
        try:
            with torch.autocast("cpu", **options):
                tell("open")
        except TypeError as error:
            tell(str(error))
        torch.set_autocast_enabled("cpu", False)  # which PyTorch leaves on where it refuses `cache_enabled`
