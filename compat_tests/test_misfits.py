"""Calls whose arguments do not fit are refused in PyTorch's words, for the reason that it finds first."""

from __future__ import annotations

import pytest

import torchlite

from .side_by_side import same_story, warning_always

torch = pytest.importorskip("torch")

CALLS = """
torch.take()                       torch.take(x)                     torch.take(index=1)
torch.take(x, foo=1)               torch.take(x, x, x)               torch.take(x, input=x)
torch.take(x, x, input=x)          torch.take(1, x, input=x)         torch.mvlgamma(x)
x.take()                           x.take(1, 2)                      x.cumsum(foo=1)
x.take("x", foo=1)                 x.take(x.long(), foo=1)                  x.hardshrink(1, 2)
x.diagonal(1, 2, 3, 4)             torch.diagonal(x, 1, 2, 3, 4)     torch.allclose(x)
torch.allclose(x, x, 1, 2, 3, 4)   torch.gather(x, 1)                torch.permute(x, 1, 0)
x.cumsum(0, foo=1, bar=2)          x.cumsum("a", foo=1)              x.permute(foo=1)
x.t(1)                             x.t(1, 2)                         x.t(foo=1)
x.zero_(1)                         torch.cat()                       torch.cat(x, 1, 2, 3)
torch.sum("x")                     torch.max(x, "a")                 torch.mean(x, "b")
torch.max()                       x.round_(decimals="a")
x.count_nonzero({}, x)             x.max("a", "b")
x.view(2, 4 / 2)                   x.view((2, "a"))                  x.reshape(-1, 4 / 2)
torch.zeros(2, 1.5)                torch.zeros((1.5, 2))             torch.zeros([2, 3, None])
torch.ones(size=(2, "a"))          torch.empty((2, "a"), dtype="b")  torch.empty((2, "a"), foo=1)
torch.randint(3, (2, "a"))         torch.full((2, x), 1.0)           torch.nn.Linear("a", 2)
x.sum((0, "a"))                    torch.mean(x, dim=[0, None])      x.permute(0, "a")
torch.split(x, [1, "a"])           torch.roll(x, (1, "a"), (0, 1))   x.expand(2, 2.0)
torch.movedim(x, (0, "a"), (1, 0))  torch.nn.functional.pad(x, (1, 0.5))  torch.conv2d(x, x, None, (1, "a"))
"""


def refusal(call: str, library: object) -> str:
    try:
        eval(call, {"torch": library, "x": library.ones(2, 2)})
    except TypeError as error:
        return str(error)
    raise AssertionError(f"{call} is accepted")


@pytest.mark.parametrize("call", [call.strip() for line in CALLS.splitlines() for call in line.split("  ") if call])
def test_what_does_not_fit_is_refused_as_in_pytorch(call: str) -> None:
    assert refusal(call, torchlite) == refusal(call, torch)


@pytest.mark.parametrize("call", ["torch.add(x, 3, x)", "torch.addcmul(x, 5, x, x)", "x.addcdiv(7, x, x)"])
def test_overloads_of_old_are_told_of_as_in_pytorch(call: str) -> None:
    told = []
    for library in (torch, torchlite):
        with warning_always(library), pytest.warns(UserWarning) as seen:
            eval(call, {"torch": library, "x": library.ones(2)})
        told.append(str(seen[0].message).split(" (Triggered internally")[0])
    assert told[0] == told[1]


@same_story
def test_quotients_as_functions_and_methods(torch, tell):
    x = torch.arange(1.0, 4)
    tell(x.div(2), x.divide(x), x.true_divide(2), x.div(2, rounding_mode="floor"), x.clone().div_(2))
    tell(torch.div(x, 2), torch.div(x, x, out=torch.empty(3)), torch.cov(torch.stack([x, x * 2])))


OF_SEVERAL_OVERLOADS = """
torch.where(x>0,x,'a')
torch.where(x>0,'a',x)
torch.where('a',x,x)
torch.where(x>0,x)
torch.where(x>0,x,x,out=1)
torch.where(x>0,1,'a')
torch.where()
(x>0).where(x,'a')
x.where(x>0,'a')
torch.max(x,'a')
torch.std(x,'a')
torch.sum(x,'a',3)
torch.add(x,'a')
x+'a'
torch.clamp(x,'a')
torch.pow(x,'a')
torch.full((2,),'a')
torch.zeros('a')
x.view('a')
x.reshape('a')
torch.arange('a')
torch.index_select(x,'a',x)
torch.div(x,2,rounding_mode=3)
torch.cat(x)
torch.stack(3)
torch.normal('a',x)
torch.scatter(x,0,x,'a')
torch.all(x,'a')
x.repeat('a')
x.median('a')
torch.sort(x,'a')
torch.isin(x,'a')
torch.bucketize('a',x)
torch.searchsorted(x,'a')
x.fill_('a')
torch.addcmul(x,'a',x)
torch.lerp(x,x,'a')
torch.quantile(x,'a')
torch.masked_fill(x,x>0,'a')
torch.var(x,unbiased='a')
torch.repeat_interleave(x,'a')
torch.tensor_split(x,'a')
torch.roll(x,'a')
torch.diff(x,n='a')
torch.argsort(x,stable='a')
torch.gradient(x,spacing='a')
torch.cross(x,x,'a')
torch.nansum(x,'a')
torch.bernoulli(x,'a')
torch.histc(x,'a')
torch.nonzero(x,as_tuple='a')
torch.squeeze(x,'a')
torch.select(x,'a',0)
torch.unbind(x,1.5)
torch.flatten(x,'a')
torch.eq(x,'a')
torch.float_power(x,'a')
torch.xlogy(x,'a')
torch.logit(x,'a')
torch.add()
torch.add(x, 1, 2, 3)
torch.bitwise_and()
x.bitwise_and(1, 2, 3)
torch.exp()
torch.exp(x, x)
x.exp_(1)
x.sub_()
torch.eq(other=x)
torch.mul(other=x)
torch.linspace("a", x, 3)
torch.where(x > 0, x, x, x, x)
x.mm()
x.addmm(x)
"""


@pytest.mark.parametrize("call", OF_SEVERAL_OVERLOADS.strip().splitlines())
def test_what_fits_no_overload_is_told_of_all(call: str) -> None:
    assert refusal(call, torchlite) == refusal(call, torch)
