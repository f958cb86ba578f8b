"""What `out=` says to tensors with a history, and of which dtype and size it may be."""

from .side_by_side import same_story


def _tried(torch, tell, calls):
    for call in calls:
        try:
            call()
        except Exception as error:
            tell(type(error).__name__, str(error).partition("\n")[0])
        else:
            tell("done")


@same_story
def test_what_has_a_derivative_refuses_histories_before_all_else(torch, tell):
    x = torch.tensor([[0.25, 0.5], [0.75, 0.1]], dtype=torch.float64, requires_grad=True)
    wrong = torch.empty(0, dtype=torch.bool)
    places = torch.tensor([0, 1])
    calls = [
        lambda: torch.cat([x, x], out=wrong),
        lambda: torch.stack([x, x], out=wrong),
        lambda: torch.index_select(x, 0, places, out=wrong),
        lambda: torch.take(x, places, out=wrong),
        lambda: torch.square(x, out=wrong),
        lambda: torch.norm(x, 2, 0, out=wrong),
        lambda: torch.outer(x[0], x[0], out=wrong),
        lambda: torch.add(torch.ones(2), 1, out=x),
    ]
    _tried(torch, tell, calls)


@same_story
def test_what_has_no_derivative_writes_anywhere(torch, tell):
    x = torch.tensor([[0.25, 0.5], [0.75, 0.1]], dtype=torch.float64, requires_grad=True)
    y = x * 2
    tell(torch.lt(x, 0.3, out=torch.empty(0)), torch.argmax(x, 0, out=torch.empty(0, dtype=torch.int64)))
    tell(torch.logical_not(x, out=torch.empty(0)), torch.eq(x, x, out=y), y._version, y.grad_fn.name())
    tell(torch.histc(x, 4, out=torch.empty(0, dtype=torch.float64)))


@same_story
def test_ops_that_keep_the_dtype_want_it_of_out(torch, tell):
    x = torch.tensor([0.5, -1.5], dtype=torch.float64)
    ops = (torch.abs, torch.neg, torch.sign, torch.sgn, torch.floor, torch.ceil, torch.round, torch.trunc, torch.frac)
    for dtype in (torch.float32, torch.int64, torch.complex128):
        calls = [lambda op=op, dtype=dtype: op(x, out=torch.empty(0, dtype=dtype)) for op in ops]
        _tried(torch, tell, calls)
        _tried(torch, tell, [lambda dtype=dtype: torch.clamp(x, 0, 1, out=torch.empty(0, dtype=dtype))])
        _tried(torch, tell, [lambda dtype=dtype: torch.nan_to_num(x, out=torch.empty(0, dtype=dtype))])
    tell(torch.abs(x + 1j, out=torch.empty(0, dtype=torch.float64)))


@same_story
def test_sizes_of_out_are_not_a_matter_of_histories(torch, tell):
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    with torch.no_grad():
        tell(torch.add(torch.ones(2, 2), 1, out=x).shape, x._version)
    _tried(torch, tell, [lambda: torch.zeros(2, out=x), lambda: torch.randn(3, out=y), lambda: torch.eye(2, out=x)])
    tell(torch.zeros(2, out=torch.empty(0))._version, torch.rand(2, out=torch.empty(0))._version)


@same_story
def test_numbers_that_an_unsigned_integer_has_no_room_for(torch, tell):
    x = torch.zeros(2, dtype=torch.uint8)
    for number in (-1, -1.0, -0.5, 255.5, 3.75, 256):
        _tried(torch, tell, [lambda n=number: x.fill_(n), lambda n=number: x.index_fill_(0, torch.tensor([1]), n)])
        _tried(torch, tell, [lambda n=number: torch.tensor(n, dtype=torch.uint8)])
        tell(x)


@same_story
def test_soft_margin_loss_has_no_gradient_for_its_target(torch, tell):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    _tried(torch, tell, [lambda: torch.nn.functional.soft_margin_loss(x, y)])
    with torch.no_grad():
        tell(torch.nn.functional.soft_margin_loss(x, y))


@same_story
def test_real_transforms_keep_what_they_were_given(torch, tell):
    x = torch.ones(3, requires_grad=True) * 2
    made = torch.fft.rfft(x)
    tell(made.grad_fn.name(), made.grad_fn._saved_self)
    x.mul_(2)
    _tried(torch, tell, [lambda: made.abs().sum().backward()])


@same_story
def test_an_operand_is_not_resized_to_take_the_result(torch, tell):
    x, y = torch.ones(1, 4), torch.ones(3, 1)
    _tried(torch, tell, [lambda: torch.ne(x, y, out=x), lambda: torch.add(x, y, out=y)])
    tell(x.shape, torch.add(x, y, out=x[0, :0]).shape)


@same_story
def test_products_with_two_zeros_have_no_gradient_at_all(torch, tell):
    for numbers in ([0.0, 0.0, 1.0], [0.0, 2.0, 1.0]):
        x = torch.tensor(numbers, requires_grad=True)
        x.prod().backward(torch.tensor(float("nan")))
        tell(x.grad)
