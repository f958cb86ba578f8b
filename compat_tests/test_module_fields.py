"""What modules are constructed from: their headers, constants, errors, and what subclasses may do with them."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing

import pytest

import torchlite
from compat_tests.side_by_side import same_story


def module_classes(torch):
    return {name: c for name, c in vars(torch.nn).items() if isinstance(c, type) and issubclass(c, torch.nn.Module)}


NAMES = sorted(module_classes(torchlite))


def header(c):
    """The parameters, with defaults that compare across libraries."""
    parameters = inspect.signature(c).parameters.values()
    return [(p.name, p.kind, p.default.__name__ if callable(p.default) and p.default is not p.empty else p.default)
            for p in parameters]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_header_and_constants(name):
    ours, theirs = [module_classes(torch)[name] for torch in (torchlite, pytest.importorskip("torch"))]
    if name not in ("Container", "Module", "Sequential"):
        assert header(ours) == header(theirs)
    assert getattr(ours, "__constants__", None) == getattr(theirs, "__constants__", None)


ERRORS = {
    "none": lambda nn: nn.Threshold(),
    "one of two": lambda nn: nn.Linear(3),
    "too many": lambda nn: nn.Threshold(1, 2, True, 4),
    "unknown": lambda nn: nn.Threshold(1, 2, other=3),
    "unknown beside missing": lambda nn: nn.Threshold(1, other=3),
    "twice": lambda nn: nn.Threshold(1, 2, threshold=3),
    "keyword only": lambda nn: nn.GroupNorm(1, 2, 1e-5, True, None, None, True),
    "an argument of the base": lambda nn: nn.HuberLoss(size_average=True),
    "only keywords": lambda nn: nn.GaussianNLLLoss(True),
    "of a base without name": lambda nn: nn.Hardswish(1, 2),
    "a layer": lambda nn: nn.TransformerDecoderLayer(4),
}


@pytest.mark.parametrize("case", ERRORS)
def test_arguments_that_do_not_fit(case):
    same_story(lambda torch, tell: ERRORS[case](torch.nn))()


@same_story
def test_subclasses(torch, tell):
    nn = torch.nn
    seen = []

    class Watched(nn.MaxPool2d):
        def __setattr__(self, name, value):
            seen.append(name)
            super().__setattr__(name, value)

    class Doubled(nn.Softplus):
        @property
        def beta(self):
            return 2 * self.__dict__["half"]

        @beta.setter
        def beta(self, value):
            self.__dict__["half"] = value

    class Wide(nn.Linear):
        def __init__(self, size, **more):
            super().__init__(size, 2 * size, **more)
            self.size = size

        def reset_parameters(self):
            self.seen = self.in_features, self.out_features, self.bias is None

        def complete(self):
            raise AssertionError("nobody asked")

    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = True

    class Both(nn.ReLU, First):
        pass

    Watched(3, 2)
    tell([name for name in seen if name in ("kernel_size", "stride", "padding", "dilation", "ceil_mode")])
    tell(Doubled(1.5).beta, Doubled(1.5), Doubled().state_dict())
    tell(Wide(2, bias=False), Wide(3).seen, Wide(2).size, Both(True).first, Both(True))
    learned = nn.Threshold(nn.Parameter(torch.ones(1)), nn.Identity())
    tell([name for name, _ in learned.named_parameters()], [name for name, _ in learned.named_children()])
    tell(hasattr(nn.ReLU, "inplace"), hasattr(nn.Linear, "bias"), hasattr(nn.Linear, "complete"))
    tell(nn.Linear.__init__.__qualname__, nn.Linear.__init__.__name__)


@same_story
def test_old_states(torch, tell):
    nn = torch.nn
    for m, lacking in ((nn.Softmax(), "dim"), (nn.AvgPool3d(2), "padding"), (nn.Conv1d(1, 1, 1), "padding_mode")):
        state = m.__getstate__()
        del state[lacking]
        fresh = type(m).__new__(type(m))
        fresh.__setstate__(state)
        tell(fresh)


@same_story
def test_copies_and_pickles(torch, tell):
    for m in (torch.nn.Conv2d(2, 4, 3, groups=2), torch.nn.NLLLoss(torch.ones(3), ignore_index=1)):
        for made in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
            tell(type(made) is type(m), made, list(made.state_dict()), made.__dict__.keys() == m.__dict__.keys())


def test_types_of_arguments_are_found_where_the_class_stands():
    hints = typing.get_type_hints(torchlite.nn.BCELoss.__init__)
    assert hints["weight"] == torchlite.Tensor | None and hints["reduction"] is str
