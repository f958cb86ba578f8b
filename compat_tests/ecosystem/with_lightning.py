"""A LightningModule, fitted with a callback and a checkpoint, validated and tested."""

import logging
import tempfile
import warnings

import lightning as L
import torch

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Net(L.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.layers(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val", torch.nn.functional.mse_loss(self.layers(x), y))

    test_step = validation_step

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), 1e-2)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]


L.seed_everything(0, verbose=False)
x = torch.randn(32, 4)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), 8, shuffle=True)
with tempfile.TemporaryDirectory() as folder:
    best = L.pytorch.callbacks.ModelCheckpoint(folder, monitor="val", filename="best")
    trainer = L.Trainer(
        max_epochs=4, accelerator="cpu", logger=False, callbacks=[best], enable_progress_bar=False,
        enable_model_summary=False, gradient_clip_val=1.0, default_root_dir=folder,
    )
    net = Net()
    trainer.fit(net, loader, loader)
    print({name: value.item() for name, value in trainer.callback_metrics.items()})
    again = Net.load_from_checkpoint(f"{folder}/best.ckpt")
    print(again.hparams.width, trainer.test(again, loader, verbose=False)[0]["val"])
    print(sum(p.sum().item() for p in net.parameters()))
