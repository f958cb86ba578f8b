"""Calls that are more than one kernel on plain tensors."""

from .timing import workloads

SETUP = """
x, y = torch.full((4, 4), 1.25), torch.full((4, 4), 0.75)
w = torch.full((4, 4), 1.1, requires_grad=True)
mask = x > y
row, bias = torch.ones(4), torch.zeros(4)
target = torch.tensor([0, 1, 2, 3])
"""

SNIPPETS = {
    name.format(*named): statement.format(*given)
    for name, statement in {
        "reshape{}": "{}.reshape(2, 8)",
        "transpose{}": "{}.transpose(0, 1)",
        "t{}": "{}.t()",
        "unsqueeze{}": "{}.unsqueeze(0)",
        "cat{}": "torch.cat([{}, y])",
        "stack{}": "torch.stack([{}, y])",
        "where{}": "torch.where(mask, {}, y)",
        "div{}": "{} / y",
        "clone{}": "{}.clone()",
        "softmax{}": "torch.softmax({}, 1)",
        "layer_norm{}": "F.layer_norm({}, (4,), row, bias)",
        "cross_entropy{}": "F.cross_entropy({}, target)",
        "linear{}": "F.linear({}, y, bias)",
    }.items()
    for named, given in ((("",), ("x",)), ((", with grad",), ("w",)))
} | {
    "zeros": "torch.zeros(4, 4)",
    "arange": "torch.arange(4)",
    "ones_like": "torch.ones_like(x)",
    "softmax, backward": "torch.softmax(w, 1).backward(x)",
    "layer_norm, backward": "F.layer_norm(w, (4,), row, bias).backward(x)",
    "cross_entropy, backward": "F.cross_entropy(w, target).backward()",
}

WORKLOADS = workloads(SETUP, SNIPPETS)
