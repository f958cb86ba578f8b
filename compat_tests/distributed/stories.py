"""Several programs told in one start of the processes; numbers are compared within rounding."""

import ast

import pytest

from .ranks import run, start


def same_numbers(stories, ranks=2):
    """Assert that torchlite's processes tell what PyTorch's do: values that can be written as literals."""
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    ours, theirs = run("torchlite", stories, ranks), run("torch", stories, ranks)
    for rank, (mine, model) in enumerate(zip(ours, theirs, strict=True)):
        for here, there in zip(mine, model):
            (name, told), (_, wanted) = ast.literal_eval(here), ast.literal_eval(there)
            for number, (one, other) in enumerate(zip(told, wanted)):
                assert near(one, other), f"{name} of rank {rank}, told as {number}:\n  {one}\n  PyTorch's:\n  {other}"
            assert len(told) == len(wanted), f"{name} of rank {rank}"
        assert len(mine) == len(model)


def near(a, b):
    if isinstance(a, (list, tuple)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(near(value, b[key]) for key, value in a.items())
    return a == (pytest.approx(b, rel=1e-5, abs=1e-6) if isinstance(b, float) else b)


def plain(value):
    if hasattr(value, "untyped_storage") or hasattr(value, "detach"):
        return plain_tensor(value)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def plain_tensor(tensor):
    return tensor.detach().to_dense().tolist() if str(tensor.layout) != "torch.strided" else tensor.detach().tolist()


def tell_all(parts, torch, tell):
    """Run programs `part(torch, dist, tell)`, one after the other, in a group of all processes."""
    dist = start(torch)
    for part in parts:
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float64)  # so that what is rounded on the way is rounded alike
        told = []
        part(torch, dist, lambda *values, into=told: into.extend(map(plain, values)))
        tell(repr((part.__name__, told)))
        dist.barrier()
    dist.destroy_process_group()


def attempt(call):
    """What comes of a call, be it an error."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
