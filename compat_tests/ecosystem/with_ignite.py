"""An Engine's training with metrics, handlers and early stopping."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, ModelCheckpoint
from ignite.metrics import Accuracy, Loss

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(5, 12), torch.nn.ReLU(), torch.nn.Linear(12, 3))
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
x = torch.randn(48, 5)
data = torch.utils.data.TensorDataset(x, x[:, :3].argmax(1))
loader = torch.utils.data.DataLoader(data, 8, shuffle=True)
criterion = torch.nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, criterion)
evaluator = create_supervised_evaluator(model, {"accuracy": Accuracy(), "loss": Loss(criterion)})
stopper = EarlyStopping(3, lambda engine: -engine.state.metrics["loss"], trainer)
evaluator.add_event_handler(Events.COMPLETED, stopper)


@trainer.on(Events.EPOCH_COMPLETED)
def tell(engine):
    evaluator.run(loader)
    print(engine.state.epoch, evaluator.state.metrics["accuracy"], evaluator.state.metrics["loss"])


trainer.run(loader, max_epochs=4)
print(ModelCheckpoint.__name__, sum(p.sum().item() for p in model.parameters()))
