"""Work on large arrays that several threads share: the same results, whatever their number."""

import os
import threading

import numpy as np
import pytest

import torchlite as torch
from torchlite.core.native import native
from torchlite.nn import functional as F

LARGE = 1_300_001


@pytest.fixture(autouse=True)
def threads_as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def results():
    """What operations of all kinds make of large arrays."""
    torch.manual_seed(0)
    x, y = torch.rand(2, LARGE).unbind()
    rows = torch.rand(1111, 1203)
    leaf = x.clone().requires_grad_()
    made = [x + y, x * 2.5, x.square(), x.exp(), F.gelu(x), x.sum(), x.mean(), rows.sum(1), x.norm(), rows.norm(dim=1)]
    made += [rows + rows[0], rows * rows[:, :1], torch.outer(x[:900], y[:901]), rows.amax(1)]
    made += [rows.sum(0), rows.softmax(0), rows.softmax(1)]
    made += [rows.log_softmax(1), F.mse_loss(x, y), F.smooth_l1_loss(x, y)]
    for value in (leaf.relu(), leaf.sigmoid(), leaf.tanh(), leaf * leaf * y, F.silu(leaf), F.huber_loss(leaf, y)):
        made += torch.autograd.grad(value.sum(), leaf)
    images, points = rows.view(11, 1, 101, 1203), torch.rand(11, 301, 303, 2) * 2 - 1
    made += [F.interpolate(images, scale_factor=1.5, mode="bilinear"), F.grid_sample(images, points)]
    made += [F.max_pool2d(images, 3, 2, 1), rows.cumsum(1), rows.cumprod(0), F.embedding(torch.arange(999) % 100, rows)]
    made += [torch.where(x < 0.5, x, y), rows.masked_fill(rows[0] < 0.5, 2), rows.logsumexp(1)]
    places = (rows * 1000).long()
    made += [rows.gather(1, places), rows.scatter_add(1, places, rows), rows.scatter(1, places, rows)]
    made += [y.gather(0, (x * 1000).long()), rows.double().softmax(1), y.double(), y.double().div(3).float()]
    made += [torch.cat([rows, rows], 1), torch.stack([x, y]), F.pad(images, (2, 1, 0, 3)), rows.var(1)]
    made += [*rows.kthvalue(400), *rows.sort(1)]
    made += [y.argsort(), rows.amax(), x.max(), rows.cumsum(0), rows.logcumsumexp(0)]
    made += [rows.logcumsumexp(1), rows.t().contiguous(), images.permute(0, 2, 3, 1).contiguous()]
    made += [rows.flip(0), rows.flip(1)]
    made.append(F.pixel_shuffle(x[:1_300_000].view(26, 25, -1, 8), 5))
    optimizer = torch.optim.Adam([leaf], 0.1)
    leaf.grad = y.clone()
    optimizer.step()
    return [m.detach().numpy().copy() for m in (*made, leaf)]


def learned(function, *arguments):
    """A result, and its gradients by all tensors."""
    leaves = [a.clone().requires_grad_() for a in arguments if isinstance(a, torch.Tensor)]
    made = function(*leaves, *[a for a in arguments if not isinstance(a, torch.Tensor)])
    return [made, *torch.autograd.grad(made, leaves, made.detach().cos())]


def results_of_layers():
    torch.manual_seed(0)
    made = learned(lambda x, w, b: F.layer_norm(x, (501,), w, b), torch.rand(301, 501), *torch.rand(2, 501).unbind())
    for shape in ((13, 24, 40, 40), (3000, 91)):
        w, b = torch.rand(2, shape[1])
        made += learned(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), torch.rand(shape), w, b)
    made += learned(lambda x, w, b: F.group_norm(x, 4, w, b), torch.rand(13, 24, 40, 40), *torch.rand(2, 24))
    made += learned(F.conv2d, torch.rand(13, 3, 40, 40), torch.rand(8, 3, 3, 3), torch.rand(8))
    made += learned(F.conv_transpose2d, torch.rand(13, 8, 20, 20), torch.rand(8, 3, 3, 3), torch.rand(3), 2)
    made += learned(F.conv2d, torch.rand(3, 230, 9, 9), torch.rand(96, 230, 3, 3), torch.rand(96))
    made += learned(F.conv2d, torch.rand(13, 16, 24, 24), torch.rand(32, 16, 3, 3), torch.rand(32))
    made += learned(F.max_pool2d, torch.rand(7, 5, 81, 83), 3, 2)
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):  # but for small products, which are BLAS's
        layer, x = kind(16, 32), torch.rand(9, 77, 16)
        y = layer(x)[0]
        made += [y, *torch.autograd.grad(y, [layer.bias_ih_l0, layer.bias_hh_l0], y.detach().cos())]
    made += learned(torch.bmm, torch.rand(99, 31, 33), torch.rand(99, 33, 37))
    made += [torch.rand(99, 31, 33) @ torch.rand(99, 37, 33).mT]
    made.append(torch.rand(1111, 1203).t() @ torch.rand(1111))
    if native and "avx512" in native.isas:  # else products are BLAS's
        made += learned(F.linear, torch.rand(530, 601), torch.rand(301, 601), torch.rand(301))
    made += learned(F.scaled_dot_product_attention, *torch.rand(3, 5, 3, 70, 32).unbind())
    return [m.detach().numpy().copy() for m in made]


def assert_that_threads_change_nothing(compute):
    torch.set_num_threads(1)
    alone = compute()
    for number in (2, 3, 7):
        torch.set_num_threads(number)
        for one, other in zip(compute(), alone, strict=True):
            np.testing.assert_array_equal(one, other)


def test_results_do_not_depend_on_the_number_of_threads():
    assert_that_threads_change_nothing(results)


@pytest.mark.skipif(native is None, reason="NumPy leaves them to BLAS")
def test_results_of_layers_do_not_depend_on_the_number_of_threads():
    assert_that_threads_change_nothing(results_of_layers)


def test_many_threads_may_have_work_at_once():
    torch.set_num_threads(2)
    x = torch.rand(LARGE)
    wanted, found = F.gelu(x).numpy(), []

    def work():
        for _ in range(5):
            found.append(np.array_equal(F.gelu(x).numpy(), wanted))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [True] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    torch.set_num_threads(2)
    x = torch.rand(LARGE)
    wanted = F.gelu(x).numpy()  # the pool is at work before the fork,
    child = os.fork()
    if not child:
        os._exit(0 if np.array_equal(F.gelu(x).numpy(), wanted) else 1)  # and in the child another
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(F.gelu(x).numpy(), wanted)


def test_results_that_several_threads_want_go_to_each_ones_own():
    x = torch.rand(300_000)
    outs = [torch.empty(300_000) for _ in range(4)]
    made = []

    def fill(out):
        for _ in range(40):
            torch.exp(x, out=out)
            made.append(torch.sigmoid(x))

    workers = [threading.Thread(target=fill, args=(out,)) for out in outs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for out in outs:
        assert torch.equal(out, x.exp())
    assert all(torch.equal(m, made[0]) for m in made) and len({m.data_ptr() for m in made}) == len(made)
