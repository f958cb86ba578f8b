"""Recurrent networks: layers that run through sequences, and the cells that make one step."""

from __future__ import annotations

import math
import numbers
import weakref
from collections.abc import Sequence
from dataclasses import InitVar
from typing import Any

from typing_extensions import deprecated

from ...core.machine import Tensor, functions
from ...core.values import DeviceLike, dt, warn
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .fields import fields, made
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_empty = functions["empty"]


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


@deprecated(
    "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
    category=FutureWarning,
)
def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Slices in another order."""
    return _apply_permutation(tensor, permutation, dim)


def _permuted(t: Tensor, permutation: Tensor | None) -> Tensor:
    return t if permutation is None else _apply_permutation(t, permutation)


def _check_arguments(
    input_size: Any, hidden_size: Any, num_layers: int, bias: Any, batch_first: Any, dropout: Any, proj_size: int
) -> None:
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
        )
    for name, value, kind in (
        ("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ):  # fmt: skip
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        if kind is int and value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


@fields
class RNNBase(Module):
    """What recurrent networks share: their weights, by layer and direction, and the checks of their input."""

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int = 1
    bias: bool = True
    batch_first: bool = False
    dropout: float = 0.0
    bidirectional: bool = False
    proj_size: int = 0
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None

    def complete(self, device: DeviceLike, dtype: Any) -> None:
        dropout, self.dropout = self.dropout, float(self.dropout)
        _check_arguments(
            self.input_size, self.hidden_size, self.num_layers, self.bias, self.batch_first, dropout, self.proj_size
        )
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)
        self._flat_weight_refs: list[Any] = []
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(self.num_layers):
            for suffix in ("", "_reverse")[: self._directions()]:
                names = []
                for name, shape in self._shapes(layer).items():
                    weight = Parameter(_empty(shape, device=device, dtype=dtype))  # biases that go unused too
                    if self.bias or not name.startswith("bias"):
                        names.append(f"{name}_l{layer}{suffix}")
                        setattr(self, names[-1], weight)
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)
        self._init_flat_weights()
        self.reset_parameters()

    def reset_parameters(self: Any) -> None:
        """Draw new weights, from a uniform distribution whose bounds depend on `hidden_size`."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """The weights of one direction of a layer."""
        gates, state = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, state * self._directions() if layer else self.input_size),
            "weight_hh": (gates, state),
        }
        shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    # ---- the list of weights

    # It follows assignments to the module; parameters that were swapped behind its back are noticed by the references.

    def _init_flat_weights(self) -> None:
        self._flat_weights = [getattr(self, name, None) for name in self._flat_weights_names]
        self._note_weights()
        self.flatten_parameters()

    def _note_weights(self) -> None:
        self._flat_weight_refs = [None if w is None else weakref.ref(w) for w in self._flat_weights]

    def _update_flat_weights(self) -> None:
        for ref, name in zip(self._flat_weight_refs, self._flat_weights_names, strict=True):
            weight = getattr(self, name, None)
            if weight is not None and ref is not None and ref() is not weight:
                self._init_flat_weights()
                return

    def __setattr__(self, attr: str, value: Any) -> None:
        names = self.__dict__.get("_flat_weights_names", ())
        if attr in names and "_flat_weights" in self.__dict__:
            self._flat_weights[names.index(attr)] = value
        super().__setattr__(attr, value)

    def flatten_parameters(self) -> None:
        """Does nothing: no kernel asks for weights that lie side by side."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights, one list for each direction of each layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        self._flat_weight_refs = []
        made: Any = super()._apply(fn, recurse)
        self._init_flat_weights()
        return made

    def __getstate__(self) -> dict[str, Any]:
        self._update_flat_weights()
        state = super().__getstate__()
        del state["_flat_weight_refs"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)
        if "all_weights" in state:
            self._all_weights = state["all_weights"]
        self._note_weights()

    def _replicate_for_data_parallel(self) -> Any:
        replica = super()._replicate_for_data_parallel()
        replica._flat_weights = replica._flat_weights[:]
        replica._flat_weights_names = replica._flat_weights_names[:]
        return replica

    # ---- checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input of another dtype, number of dimensions or size."""
        first: Any = self._flat_weights[0]
        own = first.dtype
        if input.dtype != own:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({own}). Convert input: input.to({own}), "
                f"or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> tuple[int, int, int]:
        return self.num_layers * self._directions(), int(self._batch(input, batch_sizes)), size

    def _batch(self, input: Tensor, batch_sizes: Tensor | None) -> int | Tensor:
        return input.size(0 if self.batch_first else 1) if batch_sizes is None else batch_sizes[0]

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The size of the first hidden states that an input goes with."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Refuse states of another size."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input, and states, that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """States of the sequences in another order."""
        return _permuted(hx, permutation)

    # ---- running; a state is a list of tensors here: one, or two for LSTM

    def _check_states(self, hx: Sequence[Tensor], batched: bool) -> None:
        dims = 3 if batched else 2
        if hx[0].dim() != dims:
            kind = "batched" if batched else "unbatched"
            raise RuntimeError(f"For {kind} {dims}-D input, hx should also be {dims}-D but got {hx[0].dim()}-D tensor")

    def _run(self, name: str, input: Any, hx: Any) -> tuple[Any, list[Tensor]]:
        """The output and the last states, in the form of the input."""
        self._update_flat_weights()
        settings = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            states = self._states(data, batch_sizes, None if hx is None else [_permuted(t, order) for t in hx])
            output, *last = functions[name](data, batch_sizes, states, *settings)
            return PackedSequence(output, batch_sizes, order, back), [_permuted(t, back) for t in last]
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        if hx is not None:
            self._check_states(hx, batched)
        if not batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else [t.unsqueeze(1) for t in hx]
        output, *last = functions[name](input, self._states(input, None, hx), *settings, self.batch_first)
        return (output, last) if batched else (output.squeeze(batch_dim), [t.squeeze(1) for t in last])

    def _run_one(self, name: str, input: Any, hx: Tensor | None) -> tuple[Any, Tensor]:
        output, last = self._run(name, input, None if hx is None else [hx])
        return output, last[0]

    def _zeros(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> Tensor:
        shape = self._state_size(input, batch_sizes, size)
        return functions["zeros"](shape, dtype=input.dtype, device=input.device)

    def _states(self, input: Tensor, batch_sizes: Tensor | None, hx: Any) -> Any:
        """The first states, zeros if none were given, as the function takes them."""
        state = self._zeros(input, batch_sizes, self.hidden_size) if hx is None else hx[0]
        self.check_forward_args(input, state, batch_sizes)
        return state

    def _check_dim(self, name: str, input: Any, what: str = "") -> None:
        if not isinstance(input, PackedSequence) and input.dim() not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{what} instead")

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False
        }  # fmt: skip
        parts += [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join(parts)


def _refuse_projection(given: dict[str, Any]) -> None:
    if "proj_size" in given:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Elman's network: `h = tanh(W_ih x + b_ih + W_hh h + b_hh)`, or with `relu`.

    Of inputs (time, batch, `input_size`), or (batch, time, `input_size`) with `batch_first`, it makes `(output, h_n)`:
    the last layer's states at all times, and all layers' states at the end.
    """

    nonlinearity: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        self._check_dim("RNN", input, " tensor")
        return self._run_one(self.mode.lower(), input, hx)


class GRU(RNNBase):
    """A network of gated recurrent units, which takes and gives what `RNN` does."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        self._check_dim("GRU", input)
        return self._run_one("gru", input, hx)


class LSTM(RNNBase):
    """A network of long short-term memory; with `proj_size`, hidden states are projections.

    It takes what `RNN` does, and gives `(output, (h_n, c_n))`: its cells have states too.

    >>> output, (h, c) = torch.nn.LSTM(3, 4, batch_first=True)(torch.zeros(2, 5, 3))
    >>> output.shape, h.shape
    (torch.Size([2, 5, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The size of the first cell states that an input goes with."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        sizes = (self.get_expected_hidden_size, self.get_expected_cell_size)
        for at, expected in enumerate(sizes):
            message = f"Expected hidden[{at}] size {{}}, got {{}}"
            self.check_hidden_size(hidden[at], expected(input, batch_sizes), message)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else (_permuted(hx[0], permutation), _permuted(hx[1], permutation))

    def _check_states(self, hx: Sequence[Tensor], batched: bool) -> None:
        dims = 3 if batched else 2
        if hx[0].dim() != dims or hx[1].dim() != dims:
            kind = "batched" if batched else "unbatched"
            raise RuntimeError(
                f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )

    def _states(self, input: Tensor, batch_sizes: Tensor | None, hx: Any) -> Any:
        if hx is not None:
            self.check_forward_args(input, hx, batch_sizes)
            return hx
        self.check_input(input, batch_sizes)
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)
        layers, batch = self.num_layers * self._directions(), self._batch(input, batch_sizes)
        options = {"dtype": input.dtype, "device": input.device}
        return tuple([functions["zeros"]((layers, batch, size), **options) for size in sizes])

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        self._check_dim("LSTM", input)
        output, last = self._run("lstm", input, hx)
        return output, (last[0], last[1])


# ---- cells


@fields
class RNNCellBase(Module):
    """The base of recurrent cells, which holds their weights."""

    input_size: int
    hidden_size: int
    bias: bool
    num_chunks: InitVar[int]
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None
    weight_ih: Tensor = made()
    weight_hh: Tensor = made()

    def complete(self, num_chunks: int, device: DeviceLike, dtype: Any) -> None:
        rows = num_chunks * self.hidden_size
        self.weight_ih = Parameter(_empty((rows, self.input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(_empty((rows, self.hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(_empty(rows, device=device, dtype=dtype)) if self.bias else None)
        self.reset_parameters()

    reset_parameters = RNNBase.reset_parameters

    def _step(self, function: str, input: Tensor, hx: Any, states: int) -> list[Tensor]:
        """The states after one step: of a batch, or of one element."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        given = [] if hx is None else list(hx) if states == 2 else [hx]
        for at, h in enumerate(given):
            if h.dim() not in (1, 2):
                what = f"hx[{at}]" if states == 2 else "hidden"
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {h.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input, given = input.unsqueeze(0), [h.unsqueeze(0) for h in given]
        if hx is None:
            zeros = functions["zeros"](input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            given = [zeros] * states
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        made = functions[function](input, given if states == 2 else given[0], *weights)
        last = list(made) if states == 2 else [made]
        return last if batched else [h.squeeze(0) for h in last]

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {"bias": True, "nonlinearity": "tanh"}
        parts += [f"{n}={self.__dict__[n]}" for n, value in usual.items() if self.__dict__.get(n, value) != value]
        return ", ".join(parts)


@fields(header="input_size hidden_size bias nonlinearity device dtype")
class RNNCell(RNNCellBase):
    """One step of Elman's network."""

    bias: bool = True
    num_chunks: InitVar[int] = 1
    nonlinearity: str = "tanh"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"rnn_{self.nonlinearity}_cell", input, hx, 1)[0]


@fields(header="input_size hidden_size bias device dtype", constants="")
class LSTMCell(RNNCellBase):
    """One step of long short-term memory: the next hidden and cell states."""

    bias: bool = True
    num_chunks: InitVar[int] = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = self._step("lstm_cell", input, hx, 2)
        return h, c


@fields(header="input_size hidden_size bias device dtype", constants="")
class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit."""

    bias: bool = True
    num_chunks: InitVar[int] = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("gru_cell", input, hx, 1)[0]
