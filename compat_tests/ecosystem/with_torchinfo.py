"""torchinfo's summaries."""

import torch
from torchinfo import summary


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Sequential(torch.nn.Conv2d(1, 10, 5), torch.nn.ReLU(), torch.nn.BatchNorm2d(10))
        self.rnn = torch.nn.LSTM(24, 7, batch_first=True, num_layers=2)
        self.out = torch.nn.Linear(7, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, _ = self.rnn(self.conv(x).mean(1))
        return torch.log_softmax(self.out(x[:, -1]), 1)


columns = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable")
print(summary(Net(), input_size=(4, 1, 28, 28), col_names=columns, depth=4, verbose=0))
print(summary(Net(), verbose=0))
