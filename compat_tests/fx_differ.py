"""What a program of `torch.fx` came to, as text that is the same for both libraries where they agree."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import warnings

from .fx import graphs, passes, tools, traces
from .fx.programs import PROGRAMS

THEMES = (graphs, passes, tools, traces)
NAMES = list(PROGRAMS)


def plain(text: str) -> str:
    """A text without what differs by nature: the library's name, addresses, kinds of functions, numbers of files."""
    text = text.replace("torchlite", "torch")
    text = re.sub(
        r"<(built-in (method|function)|function) [\w.<>]+( of [\w. ]+)?( at 0x\w+)?>",
        "<function>",
        text,
    )
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return re.sub(r"<eval_with_key>\.\d+", "<eval_with_key>", text)


def table(graph) -> str:
    if importlib.util.find_spec("tabulate") is None:  # with which PyTorch prints tables
        return ""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        graph.print_tabular()
    return out.getvalue().rstrip()


def told(lib, value) -> str:
    """A result as text."""
    fx = importlib.import_module(f"{lib.__name__}.fx")
    if isinstance(value, fx.GraphModule):
        table_ = re.sub(r" {2,}|-{3,}", "  ", plain(table(value.graph)))
        return f"{value.code}\n{value.graph}\n{table_}"
    if isinstance(value, lib.Tensor):
        numbers = value.detach().to(lib.complex128 if value.is_complex() else lib.float64).tolist()
        return f"{value.dtype} {tuple(value.shape)} {rounded(numbers)}"
    if isinstance(value, dict):
        return "{" + "\n".join([f"{k}: {told(lib, v)}" for k, v in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + "\n".join([told(lib, v) for v in value]) + ")"
    return str(value)


def rounded(value):
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return complex(round(value.real, 3), round(value.imag, 3)) if isinstance(value, complex) else round(value, 3) + 0.0


def found(lib, name: str) -> str:
    """What a program comes to, with the warnings that it gave."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = PROGRAMS[name](lib)
        except Exception as error:
            return plain(f"{type(error).__name__}: {error}")
        return plain(told(lib, made))
