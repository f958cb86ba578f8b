"""Models of tables: a perceptron, a residual network, and a transformer over features, each trained a few steps"""

import torch
from rtdl_revisiting_models import MLP, FTTransformer, ResNet

numbers, kinds = torch.linspace(-1, 1, 60).reshape(20, 3), torch.arange(20).reshape(20, 1) % 4
y = numbers.sum(1, keepdim=True)
for make in (
    lambda: MLP(d_in=3, d_out=1, n_blocks=2, d_block=8, dropout=0.0),
    lambda: ResNet(
        d_in=3, d_out=1, n_blocks=2, d_block=8, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.0, dropout2=0.0
    ),
    lambda: FTTransformer(
        n_cont_features=3, cat_cardinalities=[4], d_out=1, n_blocks=1, d_block=8, attention_n_heads=2,
        attention_dropout=0.0, ffn_d_hidden=None, ffn_d_hidden_multiplier=4 / 3, ffn_dropout=0.0, residual_dropout=0.0,
    ),
):  # fmt: skip
    torch.manual_seed(0)
    model = make()
    given = (numbers, kinds) if isinstance(model, FTTransformer) else (numbers,)
    groups = model.make_parameter_groups() if isinstance(model, FTTransformer) else model.parameters()
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    for _ in range(5):
        loss = torch.nn.functional.mse_loss(model(*given), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(type(model).__name__, loss.item())
