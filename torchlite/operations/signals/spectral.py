"""Spectra of short stretches of a signal, one after the other: `stft`, and the signal that has them, `istft`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.declare import published
from ...core.machine import Tensor, functions
from ...core.state import is_watched
from ...core.values import dt, type_text, warn, warn_once
from ..images.padding import constant_pad_nd, pad
from ..pointwise.complex_numbers import view_as_real
from ..shapes.slicing import narrow, unfold_backward
from ..vocabulary import requirement
from .fourier import NONE, PER_POINT, PER_ROOT, c2c, c2r, r2c


def _call(name: str, self: Tensor, **arguments: Any) -> str:
    """A call as errors show it."""

    def shown(value: Any) -> Any:
        if isinstance(value, bool):
            return int(value)
        return f"{kind(value)}{{{list(value.shape)}}}" if hasattr(value, "_backend") else value

    def kind(t: Tensor) -> str:
        return type_text(t.dtype, t.device)

    listed = "".join([f", {n}={shown(v)}" for n, v in arguments.items()])
    return f"{name}({kind(self)}{list(self.shape)}{listed})"


def _warn_of_no_window(advice: str) -> None:
    warn_once(
        f"A window was not provided. A rectangular window will be applied{advice}To suppress this warning and use a "
        "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
    )


def _in_the_middle(window: Tensor, n_fft: int) -> Tensor:
    """The window with zeros around it."""
    rest = n_fft - window.numel()
    return constant_pad_nd.apply(window, (rest // 2, rest - rest // 2), 0) if rest else window


def _check_return_complex(return_complex: bool | None, is_complex: bool) -> None:
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    if return_complex is False:
        warn_once(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex "
            "tensors for all inputs, and return_complex=False will raise an error.\nNote: you can still call "
            "torch.view_as_real on the complex output to recover the old return format."
        )


def _check_stft(
    require: Callable[[bool, str], None], t: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None
) -> None:
    require(t.dtype.category >= dt.FLOAT, "expected a tensor of floating point or complex values")
    require(t.dim() in (1, 2), "expected a 1D or 2D tensor")
    length = t.shape[-1]
    require(0 < n_fft <= length, f"expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    require(hop > 0, f"expected hop_length > 0, but got hop_length={hop}")
    require(0 < width <= n_fft, f"expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None:
        require(
            window.shape == (width,),
            f"expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{list(window.shape)}",
        )


def _pieces(batch: Tensor, length: int, hop: int) -> Tensor:
    """The pieces of each row, `hop` apart. PyTorch tells of them by their strides, which no plan knows."""
    if not is_watched():
        return batch.unfold(-1, length, hop)
    (rows, values), (row, step) = batch.shape, batch.stride()
    return batch.as_strided((rows, 1 + (values - length) // hop, length), (row, hop * step, step))


@published(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, any center=True, "
    'any pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, '
    "bool? align_to_window=None)"
)
def stft(
    self: Tensor, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None, center: bool,
    pad_mode: str, normalized: bool, onesided: bool | None, return_complex: bool | None, align_to_window: bool | None,
) -> Tensor:  # fmt: skip
    """The spectra of windows of `n_fft` values, `hop_length` apart: frequencies by times."""
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        ends = pad(self.view((1,) * (3 - self.dim()) + self.shape), (n_fft // 2, n_fft // 2), pad_mode)
        self = ends.reshape(ends.shape[ends.dim() - self.dim() :])
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if window is None:
        _warn_of_no_window(
            ",which is known to cause spectral leakage. Other windows such as torch.hann_window or "
            "torch.hamming_window are recommended to reduce spectral leakage."
        )
    is_complex = self.is_complex() or (window is not None and window.is_complex())
    _check_return_complex(return_complex, is_complex)
    call = _call(
        "stft", self, n_fft=n_fft, hop_length=hop, win_length=width, window=window, normalized=normalized,
        onesided=onesided, return_complex=return_complex, align_to_window=align_to_window,
    )  # fmt: skip
    _check_stft(requirement(f"{call} : "), self, n_fft, hop, width, window)
    if window is None and width < n_fft:
        window = self.new_ones(width)
    if align_to_window:
        before = (n_fft - width) // 2
        self = constant_pad_nd.apply(self, (before, n_fft - width - before), 0)
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    batch = self.unsqueeze(0) if self.dim() == 1 else self
    pieces = _pieces(batch, n_fft, hop)
    if window is not None:
        pieces = pieces * _in_the_middle(window, n_fft)
    norm = PER_ROOT if normalized else NONE
    if is_complex:
        spectra = c2c.apply(pieces, (2,), norm, True)
    else:
        spectra = r2c.apply(pieces, (2,), norm, onesided is not False)
    spectra = spectra.transpose_(1, 2)
    if self.dim() == 1:
        spectra = spectra.squeeze_(0)
    return view_as_real.apply(spectra) if return_complex is False else spectra


def _added_up(pieces: Tensor, length: int, hop: int) -> Tensor:
    """The sums of pieces (batch by number by place) laid over each other, each so much further on."""
    return unfold_backward.apply(pieces, (pieces.shape[0], length), 1, pieces.shape[2], hop)


def _check_istft(
    require: Callable[[bool, str], None], t: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None,
    onesided: bool | None,
) -> bool:  # fmt: skip
    """Whether the spectra are whole."""
    require(bool(t.numel()), "input tensor cannot be empty.")
    require(t.dim() in (2, 3), f"expected a tensor with 3 or 4 dimensions, but got {t.dim() + 1}")
    bins = t.shape[-2]
    whole = bins == n_fft if onesided is None else not onesided
    require(
        bins == (n_fft if whole else n_fft // 2 + 1),
        "expected the frequency dimension (3rd to the last) of the input tensor to match "
        f"{'n_fft' if whole else 'n_fft / 2 + 1'} when onesided={not whole}, but got {bins}",
    )
    require(0 < hop <= width, "expected 0 < hop_length <= win_length")
    require(0 < width <= n_fft, "expected 0 < win_length <= n_fft")
    require(
        window is None or window.shape == (width,),
        "Invalid window shape. window has to be 1D and length of `win_length`",
    )
    return whole


@published(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False)"
)
def istft(
    self: Tensor, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None, center: bool,
    normalized: bool, onesided: bool | None, length: int | None, return_complex: bool,
) -> Tensor:  # fmt: skip
    """The signal with these spectra of windows of `n_fft` values, `hop_length` apart."""
    if window is None:
        _warn_of_no_window(".Please provide the same window used by stft to make the inversion lossless.")
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    call = _call(
        "istft", self, n_fft=n_fft, hop_length=hop, win_length=width, window=window, center=center,
        normalized=normalized, onesided=onesided, length=length, return_complex=return_complex,
    )  # fmt: skip
    whole = _check_istft(requirement(f"{call} : "), self, n_fft, hop, width, window, onesided)
    count = self.shape[-1]
    if window is None:
        window = functions["ones"](width, dtype=self.dtype.to_real(), device=self.device)
    weights = _in_the_middle(window, n_fft)
    spectra = (self.unsqueeze(0) if self.dim() == 2 else self).transpose(1, 2)
    norm = PER_ROOT if normalized else PER_POINT
    if return_complex:
        if not whole:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        pieces = c2c.apply(spectra, (2,), norm, False)
    else:
        if weights.is_complex():
            raise RuntimeError("Complex windows are incompatible with return_complex=False")
        pieces = c2r.apply(narrow(spectra, 2, 0, n_fft // 2 + 1), (2,), norm, n_fft)
    reach = n_fft + hop * (count - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else reach - n_fft // 2 if center else reach
    signal = _added_up(pieces * weights, reach, hop)[:, start:end]
    weight = _added_up((weights * weights).expand(1, count, n_fft), reach, hop)[:, start:end]
    if not (weight.abs().min() > 1e-11).item():
        raise RuntimeError(f"{call} window overlap add min: 1\n[ CPUBoolType{{}} ]")
    signal = signal / weight
    if self.dim() == 2:
        signal = signal.squeeze(0)
    if end > reach:
        warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings."
        )
        signal = constant_pad_nd.apply(signal, (0, end - reach), 0)
    return signal
