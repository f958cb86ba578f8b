"""LoRA on a small language model: training, merging, saving."""

import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
base = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=2, n_head=2))
model = get_peft_model(base, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True, lora_dropout=0.0))
print(model.get_nb_trainable_parameters())
ids = torch.randint(0, 50, (2, 8))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
for _ in range(3):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    print(type(PeftModel.from_pretrained(base, folder)).__name__)
print(model.merge_and_unload()(input_ids=ids).logits.sum().item())
