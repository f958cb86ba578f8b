"""`torch.nn.utils`, but for `parametrize`, and `torch.nn.DataParallel` behave as PyTorch's do."""

from __future__ import annotations

import copy
import importlib
from typing import Any

from .side_by_side import same_story
from .test_parametrize import attempt


def inputs(torch: Any, layer: Any) -> Any:
    """What a layer takes, of ones."""
    size = (3,) if type(layer) is torch.nn.Linear else (2, *[4] * (layer.weight.dim() - 2))
    return torch.ones(3, *size, dtype=torch.float64)


@same_story
def test_weight_norm_by_hook(torch, tell):
    nn, U = torch.nn, torch.nn.utils
    for make in (lambda: nn.Linear(3, 2), lambda: nn.Conv1d(2, 3, 2), lambda: nn.ConvTranspose2d(2, 3, 2)):
        for dim in (0, 1, None):
            torch.manual_seed(0)
            layer = U.weight_norm(make().double(), dim=dim)
            tell(list(layer.state_dict()), repr(layer), layer.weight.detach())
            layer.weight_g.data.mul_(2.0)
            layer(inputs(torch, layer)).sum().backward()
            tell(layer.weight.detach(), layer.weight_g.grad, layer.weight_v.grad)
            tell(U.remove_weight_norm(layer) is layer, list(layer.state_dict()), layer.weight)
            tell(len(layer._forward_pre_hooks))
    layer = U.weight_norm(nn.Linear(3, 2))
    attempt(tell, lambda: U.weight_norm(layer))
    attempt(tell, lambda: copy.deepcopy(U.weight_norm(nn.Linear(3, 2))))
    attempt(tell, lambda: U.weight_norm(nn.Linear(3, 2), "nothing"))
    attempt(tell, lambda: U.weight_norm(nn.LazyLinear(3)))
    attempt(tell, lambda: U.remove_weight_norm(nn.Linear(3, 2)))


@same_story
def test_spectral_norm_by_hook(torch, tell):
    nn, U = torch.nn, torch.nn.utils
    for make in (lambda: nn.Linear(3, 2), lambda: nn.Conv1d(2, 3, 2), lambda: nn.ConvTranspose1d(2, 3, 2)):
        torch.manual_seed(0)
        layer = U.spectral_norm(make().double(), n_power_iterations=2)
        tell(list(layer.state_dict()), dict(layer.state_dict()._metadata), layer.weight)
        x = inputs(torch, layer)
        for _ in range(2):
            layer(x).sum().backward()
            tell(layer.weight, layer.weight_orig.grad, layer.weight_u, layer.weight_v)
        layer.eval()
        tell(layer(x))
        tell(layer.load_state_dict(layer.state_dict()))
        tell(U.remove_spectral_norm(layer) is layer, list(layer.state_dict()), layer.weight)
        tell(len(layer._forward_pre_hooks), len(layer._state_dict_hooks))
    layer = U.spectral_norm(nn.Linear(3, 2))
    attempt(tell, lambda: U.spectral_norm(layer))
    attempt(tell, lambda: U.spectral_norm(nn.Linear(3, 2), n_power_iterations=0))
    attempt(tell, lambda: U.spectral_norm(nn.Linear(3, 2), "nothing"))
    attempt(tell, lambda: U.spectral_norm(nn.Linear(3, 2, bias=False), "bias"))
    attempt(tell, lambda: U.spectral_norm(nn.LazyLinear(3)))
    attempt(tell, lambda: U.remove_spectral_norm(nn.Linear(3, 2)))


def looks(module: Any) -> Any:
    return dict(module.state_dict()), module.weight, len(module._forward_pre_hooks)


@same_story
def test_pruning(torch, tell):
    nn, P = torch.nn, importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    ways = {
        "identity": lambda m: P.identity(m, "weight"),
        "random": lambda m: P.random_unstructured(m, "weight", 0.4),
        "smallest": lambda m: P.l1_unstructured(m, "weight", 3),
        "scored": lambda m: P.l1_unstructured(m, "weight", 3, importance_scores=torch.arange(12.0).view(4, 3)),
        "random slices": lambda m: P.random_structured(m, "weight", 1, dim=0),
        "smallest slices": lambda m: P.ln_structured(m, "weight", 0.5, n=2, dim=-1),
        "largest elements": lambda m: P.ln_structured(m, "weight", 1, n=float("inf"), dim=0),
        "mask": lambda m: P.custom_from_mask(m, "weight", torch.eye(4, 3)),
        "none": lambda m: P.ln_structured(m, "weight", 0, n=1, dim=0),
    }
    for first in ways:
        for second in (None, *ways):
            torch.manual_seed(0)
            layer = nn.Linear(3, 4)
            tell(first, second, ways[first](layer) is layer)
            if second is not None:
                attempt(tell, lambda layer=layer, second=second: ways[second](layer))
            tell(*looks(layer), P.is_pruned(layer))
            layer(torch.ones(2, 3)).sum().backward()
            tell([p.grad for p in layer.parameters()])
            attempt(tell, lambda layer=layer: P.remove(layer, "weight"))
            tell(*looks(layer), P.is_pruned(layer))


@same_story
def test_pruning_everywhere(torch, tell):
    nn, P = torch.nn, importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    where = [(model[0], "weight"), (model[2], "weight"), (model[2], "bias")]
    for amount in (0.3, 4):
        P.global_unstructured(where, P.L1Unstructured, amount=amount)
        tell(*looks(model[0]), *looks(model[2]))
    P.global_unstructured(where, P.RandomUnstructured, amount=2)
    P.global_unstructured(where, P.L1Unstructured, {where[0]: torch.zeros(4, 3)}, amount=5)
    tell(*looks(model[0]), *looks(model[2]), list(model.state_dict()))
    tell(model(torch.ones(1, 3)), repr(copy.deepcopy(model)))
    attempt(tell, lambda: P.global_unstructured(3, P.L1Unstructured, amount=1))
    attempt(tell, lambda: P.global_unstructured(where, P.L1Unstructured, importance_scores=3, amount=1))


@same_story
def test_what_pruning_refuses(torch, tell):
    nn, P = torch.nn, importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    for amount in (1.5, -1, "a", -0.5, 100, 0, 1.0):
        for prune in (
            lambda m, a: P.random_unstructured(m, "weight", a),
            lambda m, a: P.random_structured(m, "weight", a, 1),
        ):
            layer = nn.Linear(3, 2)
            attempt(tell, lambda prune=prune, layer=layer, amount=amount: len(list(prune(layer, amount).parameters())))
            tell(list(layer.state_dict()))
    for dim in (5, -3):
        attempt(tell, lambda dim=dim: P.ln_structured(nn.Linear(3, 2), "weight", 1, 2, dim))
    attempt(tell, lambda: P.ln_structured(nn.Linear(3, 2), "bias", 1, 2, 0))
    attempt(tell, lambda: P.remove(nn.Linear(3, 2), "weight"))
    attempt(tell, lambda: P.l1_unstructured(nn.Linear(3, 2), "nothing", 1))
    attempt(tell, lambda: P.l1_unstructured(nn.Linear(3, 2), "weight", 1, importance_scores=torch.ones(3)))
    attempt(tell, lambda: P.custom_from_mask(nn.Linear(3, 2), "weight", torch.ones(3)))
    attempt(tell, lambda: P.BasePruningMethod())
    method = P.L1Unstructured(1)
    tell(method.prune(torch.tensor([3.0, -1.0, 2.0])), method.prune(torch.ones(2), importance_scores=torch.arange(2.0)))
    attempt(tell, lambda: method.prune(torch.ones(3), importance_scores=torch.ones(2)))
    tell([P.Identity.PRUNING_TYPE, P.CustomFromMask.PRUNING_TYPE, P.LnStructured.PRUNING_TYPE])
    method._tensor_name = "weight"
    container = P.PruningContainer(method)
    other = P.L1Unstructured(1)
    other._tensor_name = "bias"
    attempt(tell, lambda: container.add_pruning_method(other))
    attempt(tell, lambda: container.add_pruning_method(3))
    tell(len(container), container[0] is method, list(container) == [method], container.add_pruning_method(None))

    class Strange(P.Identity):
        PRUNING_TYPE = "strange"

    layer = P.identity(nn.Linear(2, 2), "weight")
    attempt(tell, lambda: Strange.apply(layer, "weight"))
    tell(list(layer.state_dict()), len(layer._forward_pre_hooks))


@same_story
def test_fusing_batch_norms(torch, tell):
    nn, U = torch.nn, torch.nn.utils
    torch.manual_seed(0)

    def settled(bn: Any, *size: int) -> Any:
        bn(torch.randn(5, 4, *size))
        return bn.eval().double()

    for bias in (True, False):
        for affine in (True, False):
            conv, bn = nn.Conv2d(2, 4, 2, bias=bias).double().eval(), settled(nn.BatchNorm2d(4, affine=affine), 3, 3)
            x = torch.randn(2, 2, 5, 5).double()
            fused = U.fuse_conv_bn_eval(conv, bn)
            tell(fused(x), bool((fused(x) - bn(conv(x))).abs().max() < 1e-10), fused.weight, fused.bias, repr(fused))
            conv = nn.ConvTranspose2d(2, 4, 2, bias=bias).double().eval()
            fused = U.fuse_conv_bn_eval(conv, bn, transpose=True)
            tell(bool((fused(x) - bn(conv(x))).abs().max() < 1e-10))
        linear, bn = nn.Linear(3, 4, bias=bias).double().eval(), settled(nn.BatchNorm1d(4))
        fused = U.fuse_linear_bn_eval(linear, bn)
        tell(fused.weight, fused.bias, repr(fused))
    attempt(tell, lambda: U.fuse_conv_bn_eval(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2)))
    attempt(tell, lambda: U.fuse_linear_bn_eval(nn.Linear(3, 2).eval(), nn.BatchNorm1d(3).eval()))
    untracked = nn.BatchNorm1d(2, track_running_stats=False).eval()
    attempt(tell, lambda: U.fuse_linear_bn_eval(nn.Linear(3, 2).eval(), untracked))


@same_story
def test_skip_init_and_memory_formats(torch, tell):
    nn, U = torch.nn, torch.nn.utils
    layer = U.skip_init(nn.Linear, 3, 2, bias=False)
    tell(repr(layer), str(layer.weight.device), tuple(layer.weight.shape))
    tell(str(U.skip_init(nn.Linear, 3, 2, device="meta").weight.device))
    attempt(tell, lambda: U.skip_init(nn.ReLU))
    attempt(tell, lambda: U.skip_init(int))
    to2, to3 = U.convert_conv2d_weight_memory_format, U.convert_conv3d_weight_memory_format
    for convert, fmt in ((to2, torch.channels_last), (to3, torch.channels_last_3d)):
        model = nn.Sequential(
            nn.Conv1d(3, 4, 2), nn.Sequential(nn.Conv2d(3, 4, 2), nn.ConvTranspose2d(3, 4, 2)), nn.Conv3d(3, 4, 2)
        )
        tell(convert(model, fmt) is model, [tuple(p.stride()) for p in model.parameters()])


@same_story
def test_data_parallel_and_functional_call(torch, tell):
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.DataParallel(nn.Linear(3, 2))
    tell(repr(model), list(model.state_dict()), model.device_ids, model(torch.ones(1, 3)))
    attempt(tell, lambda: nn.parallel.data_parallel(nn.Linear(3, 2), torch.ones(1, 3)))
    layer = nn.Linear(3, 2)
    other = {"weight": torch.ones(2, 3), "bias": torch.zeros(2)}
    tell(nn.utils.stateless.functional_call(layer, other, torch.ones(1, 3)))
