"""Numbers, histograms, images and hyperparameters that a SummaryWriter writes, read again."""

import glob
import tempfile

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    with SummaryWriter(folder) as writer:
        for step in range(5):
            writer.add_scalar("loss", torch.tensor(1.0) / (step + 1), step)
            writer.add_histogram("weights", torch.linspace(-1, 1, 50) * step, step)
        writer.add_scalars("both", {"a": 1.0, "b": torch.tensor(2.0)}, 0)
        writer.add_image("image", torch.rand(3, 4, 4), 0)
        writer.add_text("note", "words", 0)
        writer.add_hparams({"lr": 0.1, "name": "sgd"}, {"accuracy": 0.5}, run_name="hparams")
    events = EventAccumulator(folder, size_guidance={"histograms": 0}).Reload()
    print(sorted(events.Tags()["scalars"]), events.Tags()["images"], events.Tags()["histograms"])
    print([event.value for event in events.Scalars("loss")])
    print([event.histogram_value.sum for event in events.Histograms("weights")])
    print(len(glob.glob(f"{folder}/*")))
