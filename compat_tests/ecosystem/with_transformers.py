"""GPT-2 and BERT with weights of their own: losses, gradients, training, every way to generate, saving."""

import os
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

logging.disable_progress_bar()


def train(model: torch.nn.Module, **batch: torch.Tensor) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(5):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item(), sum(p.grad.norm().item() for p in model.parameters()))


torch.manual_seed(0)
ids = torch.randint(0, 97, (2, 10))
mask = torch.ones(2, 10, dtype=torch.long)
mask[0, :3] = 0

gpt = GPT2LMHeadModel(GPT2Config(vocab_size=97, n_positions=32, n_embd=32, n_layer=2, n_head=4)).eval()
print(gpt(ids, labels=ids).loss.item(), gpt(ids, attention_mask=mask).logits.abs().sum().item())
train(gpt.train(), input_ids=ids, labels=ids)
gpt.eval()
for how in ({}, {"use_cache": False}, {"num_beams": 3}, {"do_sample": True, "top_k": 10, "top_p": 0.9}):
    options = {"do_sample": False, "max_new_tokens": 8, "pad_token_id": 0, **how}
    print(gpt.generate(ids[:, :4], attention_mask=mask[1:].expand(2, -1)[:, :4], **options).tolist())
with tempfile.TemporaryDirectory() as folder:
    gpt.save_pretrained(folder)
    again = GPT2LMHeadModel.from_pretrained(folder)
assert torch.equal(again(ids).logits, gpt(ids).logits)

sizes = {"hidden_size": 32, "intermediate_size": 64, "max_position_embeddings": 40}
config = BertConfig(vocab_size=97, num_hidden_layers=2, num_attention_heads=4, **sizes)
bert = BertForMaskedLM(config).eval()
print(bert(ids, attention_mask=mask, labels=ids).loss.item())
train(bert.train(), input_ids=ids, attention_mask=mask, labels=ids)
train(BertForSequenceClassification(config), input_ids=ids, attention_mask=mask, labels=torch.tensor([0, 1]))
