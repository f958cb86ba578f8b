"""The older name of Lightning: a module with metrics, schedulers, clipping and accumulation, fitted and predicted."""

import logging
import tempfile
import warnings

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Net(pl.LightningModule):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))

    def training_step(self, batch: tuple, index: int) -> torch.Tensor:
        loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: tuple, index: int) -> None:
        self.log("val", torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1]))

    def predict_step(self, batch: tuple, index: int) -> torch.Tensor:
        return self.layers(batch[0])

    def configure_optimizers(self) -> dict:
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)}


pl.seed_everything(0, verbose=False)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
trainer = pl.Trainer(
    max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, gradient_clip_val=1.0, accumulate_grad_batches=2,
)  # fmt: skip
model = Net()
trainer.fit(model, loader, loader)
print({name: value.item() for name, value in sorted(trainer.callback_metrics.items())})
print(torch.cat(trainer.predict(model, loader)).norm().item(), trainer.optimizers[0].param_groups[0]["lr"])
with tempfile.TemporaryDirectory() as folder:
    trainer.save_checkpoint(f"{folder}/kept.ckpt")
    print(Net.load_from_checkpoint(f"{folder}/kept.ckpt").layers(x).norm().item(), model.hparams)
