"""The Trainer, in float32 and in bfloat16: a collator, schedules, evaluation, and a checkpoint to go on from."""

import os
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback
from transformers.trainer_utils import get_last_checkpoint, set_seed


class Sentences(torch.utils.data.Dataset):
    def __init__(self, count: int) -> None:
        generator = torch.Generator().manual_seed(count)
        self.rows = [torch.randint(1, 40, (5 + i % 4,), generator=generator).tolist() for i in range(count)]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> dict:
        return {"input_ids": self.rows[at], "labels": sum(self.rows[at]) % 2}


def padded(rows: list) -> dict:
    width = max(len(row["input_ids"]) for row in rows)
    ids = torch.tensor([row["input_ids"] + [0] * (width - len(row["input_ids"])) for row in rows])
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": torch.tensor([r["labels"] for r in rows])}


class Told(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs) -> None:
        numbers = {k: v for k, v in logs.items() if k.endswith(("loss", "grad_norm", "learning_rate", "accuracy"))}
        print(state.global_step, *[f"{k} {v:.3f}" if "rate" not in k else f"{k} {v}" for k, v in numbers.items()])


def accuracy(found) -> dict:
    return {"accuracy": float((found.predictions.argmax(-1) == found.label_ids).mean())}


def trainer(folder: str, steps: int, **options: object) -> Trainer:
    set_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = BertForSequenceClassification(BertConfig(vocab_size=40, max_position_embeddings=16, **sizes))
    arguments = TrainingArguments(
        folder, max_steps=steps, per_device_train_batch_size=4, per_device_eval_batch_size=8, learning_rate=1e-3,
        gradient_accumulation_steps=2, warmup_steps=2, weight_decay=0.01, logging_steps=2, eval_strategy="steps",
        eval_steps=4, save_steps=4, report_to=[], disable_tqdm=True, use_cpu=True, **options,
    )  # fmt: skip
    made = Trainer(
        model, arguments, data_collator=padded, train_dataset=Sentences(48), eval_dataset=Sentences(16),
        compute_metrics=accuracy, callbacks=[Told()],
    )  # fmt: skip
    made.remove_callback(PrinterCallback)  # which prints how long things took
    return made


with tempfile.TemporaryDirectory() as folder:
    trainer(folder, 4, lr_scheduler_type="cosine").train()
    last = get_last_checkpoint(folder)
    print(os.path.basename(last), sorted(os.listdir(last)))
    again = trainer(folder, 8, lr_scheduler_type="cosine")
    again.train(resume_from_checkpoint=last)
    print(again.evaluate()["eval_loss"], again.predict(Sentences(8)).predictions.shape)
with tempfile.TemporaryDirectory() as folder:
    found = trainer(folder, 6, bf16=True, optim="adafactor", activation_checkpointing=True).train()
    print(found.global_step, round(found.training_loss, 3))
