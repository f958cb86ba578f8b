"""Warnings say what PyTorch's do, and point at the line of the user's that led to them."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest

import torchlite
from torchlite.core.values import errors

from .side_by_side import same_story

PLACE = "/a/program/of/the/users.py"

STATEMENTS = """
torch.ones(2, 2, 2).T
torch.tensor(1.0).mT
torch.tensor(1.0).adjoint()
torch.meshgrid(torch.ones(2), torch.ones(3))
torch.range(0, 3)
torch.tensor(torch.ones(2))
torch.ones(3)[torch.tensor([1, 0, 1], dtype=torch.uint8)]
torch.ones(3, 3)[[slice(0, 1), 1]]
torch.where(torch.tensor([1, 0], dtype=torch.uint8), 1, 2)
torch.ones(1).std()
torch.var_mean(torch.ones(1))
torch.cov(torch.ones(2, 1))
torch.ones(2, 1).corrcoef()
torch.add(torch.ones(3), 1, out=torch.ones(2))
torch.ones(3, dtype=torch.complex64).float()
torch.zeros(3).copy_(torch.ones(3, dtype=torch.complex64))
torch.lu(torch.eye(2))
torch.qr(torch.eye(2))
torch.nn.LSTM(3, 4, proj_size=2)(torch.ones(2, 1, 3))
torch.cholesky(torch.eye(2))
torch.stft(torch.ones(100), 10, return_complex=True)
torch.zeros(3, dtype=torch.float16).random_(0, 60000)
(torch.ones(2, requires_grad=True) * 2).grad
torch.ones(2).resize(2)
float(torch.ones(1, requires_grad=True))
torch.nn.functional.softmax(torch.ones(2))
torch.nn.functional.linear_cross_entropy(torch.ones(2, 3), torch.ones(4, 3), torch.tensor([0, 1]), \
label_smoothing=0.1, options=torch.nn.LinearCrossEntropyOptions())
torch.nn.functional.upsample(torch.ones(1, 1, 4), 2)
torch.nn.functional.mse_loss(torch.ones(2), torch.ones(1))
torch.nn.functional.kl_div(torch.ones(2), torch.ones(2))
torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2), size_average=True)
torch.nn.functional.gumbel_softmax(torch.ones(3), eps=1e-9)
torch.nn.functional.grid_sample(torch.ones(1, 1, 4, 4), torch.ones(1, 2, 2, 2))
torch.nn.functional.dropout2d(torch.ones(2, 3))
torch.nn.Softmax()(torch.ones(2, 2))
torch.nn.LSTM(2, 2, dropout=0.5)
torch.nn.InstanceNorm1d(3, affine=False)(torch.ones(1, 2, 4))
torch.nn.init.uniform(torch.ones(2))
torch.nn.init.kaiming_uniform_(torch.ones(0, 2))
torch.nn.utils.clip_grad_norm_((p for p in []), 1)
torch.ones(2, requires_grad=True).sum().backward(create_graph=True)
torch.autograd.detect_anomaly()
torch.autograd.Variable(torch.ones(2), volatile=True)
torch.amp.autocast("cpu", dtype=torch.float64)
torch.cpu.amp.autocast()
torch.backends.cuda.sdp_kernel()
torch.distributions.Normal(0., 1.).sample_n(2)
torch.utils.checkpoint.checkpoint(lambda x: x, torch.ones(2), use_reentrant=True)
torch.utils.data.random_split([1], [0.9, 0.1])
torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(1)], 0.1), 1).step(2)
""".strip().splitlines()
OF_CONTEXTS = "torch.backends.cuda.sdp_kernel()"  # a generator's warning is contextlib's, in PyTorch as well


def warned(statement: str, library: Any) -> list[warnings.WarningMessage]:
    """What a line of a program warns of."""
    code = compile(statement, PLACE, "exec")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        exec(code, {"torch": library, "io": io})
    return seen


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "said_once", set())


@pytest.mark.parametrize("statement", STATEMENTS)
def test_warnings_say_what_pytorchs_do_and_point_at_the_users_line(statement: str) -> None:
    torch = pytest.importorskip("torch")
    torch.set_warn_always(True)
    try:
        wanted, found = warned(statement, torch), warned(statement, torchlite)
    finally:
        torch.set_warn_always(False)
    assert wanted
    assert [(w.category, said(w)) for w in found] == [(w.category, said(w)) for w in wanted]
    if statement != OF_CONTEXTS:
        assert [(w.filename, w.lineno) for w in found] == [(PLACE, 1)] * len(found)


def said(warning: warnings.WarningMessage) -> str:
    return str(warning.message).split(" (Triggered internally")[0]


def test_storages_with_a_dtype_are_warned_of_once() -> None:
    statement = "torch.save(torch.ones(2).storage(), io.BytesIO())"
    (found,) = warned(statement, torchlite)
    assert (found.filename, found.lineno) == (PLACE, 1)
    assert "TypedStorage is deprecated" in str(found.message)
    assert not warned(statement, torchlite)


def test_overloads_that_are_deprecated_point_at_the_users_line() -> None:
    for w in warned("torch.ones(2).addcmul_(1, torch.ones(2), torch.ones(2))", torchlite):
        assert (w.filename, w.lineno) == (PLACE, 1)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_said_once_in_a_process_is_what_pytorch_says_once(statement: str) -> None:
    torch = pytest.importorskip("torch")
    again = []
    for library in (torch, torchlite):
        warned(statement, library)
        again.append([said(w) for w in warned(statement, library)])
    assert again[1] == again[0]


@same_story
def test_what_no_number_of_a_dtype_holds_is_copied_in_silence(torch: Any, tell: Any) -> None:
    for dtype in (torch.int64, torch.uint8, torch.float16, torch.float32):
        for value in (1e30, 1e300, float("nan"), torch.tensor(1e300, dtype=torch.float64)):
            tell(torch.zeros(2, dtype=dtype).copy_(value))
    tell(torch.isin(torch.tensor([1, 2], dtype=torch.int8), 2.5), torch.isin(torch.tensor([1, 2]), float("inf")))
