"""Edges of `torch.nn` that programs lean on: private names, empty inputs, pickled hooks, and what is refused."""

from __future__ import annotations

import copy
import importlib
import io
import math
import pickle
from typing import Any

from .side_by_side import same_story, text


def attempt(tell: Any, call: Any) -> None:
    try:
        tell(call())
    except Exception as error:
        tell(type(error).__name__, text(error))


def room(torch: Any, name: str) -> Any:
    return importlib.import_module(f"{torch.__name__}.{name}")


# ---- names


@same_story
def test_gradients_of_convolutions_by_themselves(torch, tell):
    grad = torch.nn.grad
    torch.manual_seed(0)
    for n in (1, 2, 3):
        shapes = ((2, 4, *[4] * n), (4, 2, *[3] * n), (2, 4, *[2] * n))
        x, w, g = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
        options = {"stride": 2, "padding": 1, "groups": 2}
        tell(getattr(grad, f"conv{n}d_input")(x.shape, w, g, **options))
        tell(getattr(grad, f"conv{n}d_weight")(x, w.shape, g, **options))
    attempt(tell, lambda: grad.conv1d_input((2, 4), torch.ones(4, 4, 3), torch.ones(2, 4, 4)))
    g, x, w = torch.randn(1, 2, 4), torch.randn(1, 3, 5), torch.randn(2, 3, 2)
    mask = [True, True, True]
    tell(torch.ops.aten.convolution_backward(g, x, w, [2], [1], [0], [1], False, [0], 1, mask))


@same_story
def test_names_that_other_packages_import(torch, tell):
    types = room(torch, "nn.common_types")
    tell(str(types._size_2_t), str(types._size_any_opt_t), str(types._ratio_3_t))
    tell(torch.nn.modules.utils._pair(3), torch.nn.functional._single(2), room(torch, "nn.modules.conv")._triple(1))
    tell(torch.nn.functional._Reduction.get_enum("sum"), torch.nn.functional.has_torch_function((torch.ones(1),)))
    attempt(tell, lambda: torch.nn.functional._verify_batch_size([1, 3]))
    q, w = torch.ones(2, 1, 4), torch.arange(48.0).reshape(12, 4)
    tell(torch.nn.functional._in_projection_packed(q, q, q, w))
    tell(torch.nn.init._no_grad_fill_(torch.empty(2), 3.0), torch.nn.init._no_grad_uniform_(torch.empty(2), 1, 1))
    tell(room(torch, "nn.modules.rnn").apply_permutation(torch.arange(6).reshape(2, 3), torch.tensor([2, 0, 1])))
    tell(room(torch, "_VF").lstm is torch.lstm)


@same_story
def test_what_to_is_given(torch, tell):
    parse = torch._C._nn._parse_to
    tell(str(parse("cpu")), str(parse("cpu", torch.float64, True)), str(parse(torch.ones(1, dtype=torch.float16))))
    tell(str(parse(memory_format=torch.channels_last)))
    for wrong in ({"copy": True}, {"other": torch.ones(1), "b": 3}):
        attempt(tell, lambda wrong=wrong: parse(**wrong))
        attempt(tell, lambda wrong=wrong: torch.nn.Linear(1, 1).to(**wrong))
    attempt(tell, torch.nn.Linear(1, 1).xpu)
    attempt(tell, lambda: torch.nn.Linear(1, 1).requires_grad_("yes"))
    tell(torch._C._nn.gelu(torch.ones(2)), torch.ops.aten.mse_loss(torch.ones(2), torch.zeros(2)))


@same_story
def test_private_parts_of_pruning(torch, tell):
    prune = room(torch, "nn.utils.prune")
    for amount in (-1, 1.2, "a", 3, 0.3):
        attempt(tell, lambda amount=amount: prune._validate_pruning_amount_init(amount))
    attempt(tell, lambda: prune._validate_pruning_amount(3, 2))
    tell(prune._compute_nparams_toprune(0.5, 9), prune._compute_nparams_toprune(2, 9))
    attempt(tell, lambda: prune._validate_structured_pruning(torch.ones(2)))
    attempt(tell, lambda: prune._validate_pruning_dim(torch.ones(2), 1))
    tell(prune._compute_norm(torch.arange(6.0).reshape(2, 3), 2, -1))


@same_story
def test_other_tensors_in_place_of_a_modules_own(torch, tell):
    stateless = torch.nn.utils.stateless
    model = torch.nn.Linear(2, 2)
    other = {"weight": torch.zeros(2, 2)}
    with stateless._reparametrize_module(model, other):
        tell(model.weight)
    tell(isinstance(model.weight, torch.nn.Parameter), list(model._parameters))
    tell(stateless._functional_call(model, {**other, "bias": torch.ones(2)}, torch.ones(1, 2)))
    attempt(tell, lambda: torch.func.functional_call(torch.nn.DataParallel(model), {}, torch.ones(1, 2)))


@same_story
def test_a_transposed_convolution_of_ones_own(torch, tell):
    F = torch.nn.functional

    class Own(torch.nn.ConvTranspose2d):
        def forward(self, x, output_size=None):
            more = self._output_padding(
                x, output_size, self.stride, self.padding, self.kernel_size, 2, self.dilation
            )
            return F.conv_transpose2d(x, self.weight, None, self.stride, self.padding, more, 1, self.dilation)

    own = Own(2, 3, 3, stride=2, output_padding=1, dilation=2)
    x = torch.ones(1, 2, 4, 4)
    tell(own(x).shape, own(x, [11, 12]).shape, own(x, [1, 3, 12, 11]).shape)
    attempt(tell, lambda: own(x, [20, 11]))


# ---- which modules run


@same_story
def test_tracking_modules(torch, tell):
    nn = torch.nn
    seen = []

    class Told(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleDict({"a": nn.Linear(2, 2)})

        def forward(self, x):
            for t in (x, self.parts["a"](x)):
                seen.append((sorted(tracker.parents), tracker.is_bw))
                t.register_hook(lambda grad: seen.append((sorted(tracker.parents), tracker.is_bw)))
            return t

    model = nn.Sequential(Told(), nn.Sequential(nn.ReLU(), Told()))
    tracker = room(torch, "utils.module_tracker").ModuleTracker()
    for x in (torch.ones(1, 2, requires_grad=True), torch.ones(1, 2)):
        with tracker:
            model(x * torch.ones(2, requires_grad=True)).sum().backward()
            seen.append((sorted(tracker.parents), tracker.is_bw))
    tell(seen)
    model(torch.ones(1, 2, requires_grad=True))
    tell(seen[-1])


# ---- copies


@same_story
def test_what_hooks_modules_is_pickled(torch, tell):
    nn = torch.nn
    prune = room(torch, "nn.utils.prune")
    torch.manual_seed(0)
    pruned = prune.l1_unstructured(prune.l1_unstructured(nn.Linear(3, 2), "weight", 2), "weight", 1)
    for model in (pruned, nn.utils.weight_norm(nn.Linear(3, 2)), nn.utils.spectral_norm(nn.Linear(3, 2))):
        model.eval()
        again = pickle.loads(pickle.dumps(model))
        tell(again(torch.ones(1, 3)), [type(hook).__name__ for hook in again._forward_pre_hooks.values()])


@same_story
def test_packed_sequences_are_pickled(torch, tell):
    pack = torch.nn.utils.rnn.pack_sequence
    for packed in (pack([torch.arange(3.0), torch.ones(2)]), pack([torch.ones(1), torch.ones(2)], False)):
        file = io.BytesIO()
        torch.save(packed, file)
        file.seek(0)
        for again in (pickle.loads(pickle.dumps(packed)), copy.deepcopy(packed), torch.load(file, weights_only=False)):
            tell(type(again).__name__, tuple(again))


# ---- empty inputs


@same_story
def test_no_channels_and_no_batch(torch, tell):
    nn = torch.nn
    for n in (1, 2):
        conv = getattr(nn, f"Conv{n}d")(0, 3, 2, stride=2)
        x = torch.ones(2, 0, *[6] * n, requires_grad=True)
        made = conv(x)
        made.sum().backward()
        tell(made.shape, x.grad.shape, conv.weight.grad.shape, conv.bias.grad)
        attempt(tell, lambda conv=conv, n=n: conv(torch.ones(2, 1, *[6] * n)))
    for layer in (nn.RNN(3, 4, 2), nn.LSTM(3, 4, bidirectional=True), nn.GRU(3, 4)):
        x = torch.ones(5, 0, 3, requires_grad=True)
        made = layer(x)[0]
        made.sum().backward()
        tell(made.shape, x.grad.shape, layer.weight_ih_l0.grad.abs().sum())
    F = torch.nn.functional
    tell(F.nll_loss(torch.ones(2, 3, 0), torch.zeros(2, 0, dtype=torch.long)))
    attempt(tell, lambda: F.ctc_loss(torch.ones(0, 2, 4), torch.zeros(2, 3, dtype=torch.long), (0, 0), (0, 0)))


@same_story
def test_one_target_in_a_cluster(torch, tell):
    torch.manual_seed(0)
    loss = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5])
    x = torch.randn(3, 8)
    tell(*loss(x, torch.tensor([0, 4, 9])))
    tell(*loss(x[0], torch.tensor(3)))
    attempt(tell, lambda: loss(x, torch.tensor([0, 4, 10])))


# ---- kernels


@same_story
def test_the_largest_norm_of_windows(torch, tell):
    F = torch.nn.functional
    x = torch.tensor([[[1.0, -5.0, 2.0, 3.0]]])
    tell(F.lp_pool1d(x, math.inf, 2), F.lp_pool2d(x[None], math.inf, (1, 3), 1), torch.nn.LPPool1d(math.inf, 3, 1)(x))


@same_story
def test_uneven_padding_is_warned_of(torch, tell):
    F = torch.nn.functional
    tell(F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), padding="same"))
    tell(F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 3), padding="same"))


@same_story
def test_kernels_that_are_allowed(torch, tell):
    attention = torch.nn.attention
    kernel, kinds = attention.sdpa_kernel, attention.SDPBackend
    F, choose = torch.nn.functional, torch._fused_sdp_choice
    q = torch.ones(1, 2, 3, 4)
    tell(choose(q, q, q), choose(q[0], q[0], q[0]), choose(q, q, q[..., :2]), choose(q, q, q, dropout_p=0.5))
    tell(choose(q, q[:, :1], q[:, :1]), choose(q, q[:, :1], q[:, :1], enable_gqa=True))
    with kernel([kinds.MATH, kinds.EFFICIENT_ATTENTION]):
        tell(choose(q, q, q), [kind.name for kind in attention._cur_sdpa_kernel_backends()])
    for allowed in ([], [kinds.EFFICIENT_ATTENTION]):
        with kernel(allowed):
            attempt(tell, lambda: F.scaled_dot_product_attention(q, q, q))
    with kernel(kinds.FLASH_ATTENTION):
        tell(F.scaled_dot_product_attention(q, q, q))
    with torch.backends.cuda.sdp_kernel(enable_flash=False):
        tell(torch.backends.cuda.flash_sdp_enabled())
    params = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, True, False)
    tell(params.is_causal, torch.backends.cuda.can_use_flash_attention(params))


# ---- what is refused


@same_story
def test_wrong_operands(torch, tell):
    nn, F = torch.nn, torch.nn.functional
    x = torch.ones(2, 3)
    one, indices = torch.ones(1, 1, 2, 2), torch.tensor([0, 1, 2])
    bag = nn.EmbeddingBag(5, 3, mode="sum", include_last_offset=True)
    for call in (
        lambda: F.linear(x.double(), torch.ones(4, 3), torch.ones(4)),
        lambda: torch.addmm(x, torch.ones(2, 2), torch.ones(2, 3).double()),
        lambda: F.nll_loss(torch.ones(3), torch.tensor([1, 2])),
        lambda: F.ctc_loss(torch.zeros(4, 1, 3), torch.tensor([[1, 2]]), [4], [-1]),
        lambda: F.max_unpool2d(one, torch.full((1, 1, 2, 2), 20), 2),
        lambda: F.max_unpool3d(one[None], torch.zeros(1, 1, 1, 2, 2, dtype=torch.long), 0),
        lambda: F.max_unpool2d(one[:, :0], torch.zeros(1, 0, 2, 2, dtype=torch.long), 2),
        lambda: F.fractional_max_pool2d(torch.ones(1, 1, 6, 6), 2, output_size=-2),
        lambda: F.fractional_max_pool3d(torch.ones(1, 1, 6, 6, 6), 2, output_size=4).shape,
        lambda: bag(indices, torch.tensor([], dtype=torch.long)),
        lambda: bag(indices, torch.tensor([0.0])),
        lambda: bag(indices, torch.tensor([0, 3]), torch.ones(3).double()),
        lambda: nn.NLLLoss2d(),
        lambda: F.embedding_bag(torch.ones(3, 2), indices, torch.tensor([0, 1])),
        lambda: F.conv2d(x, x, stride=1.5, padding="a"),
        lambda: F.layer_norm(x.double(), (3,), torch.ones(3)),
        lambda: F.layer_norm(x, (3,), torch.ones(3).double()),
    ):  # fmt: skip
        attempt(tell, call)


@same_story
def test_points_that_are_no_numbers(torch, tell):
    x = torch.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    for value in (math.nan, math.inf, -math.inf):
        grid = torch.full((1, 1, 1, 2), value)
        for mode in ("nearest", "bilinear", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                tell(torch.nn.functional.grid_sample(x, grid, mode, padding, align_corners=False))
