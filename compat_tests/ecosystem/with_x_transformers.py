"""Decoders and encoders with rotary embeddings, gated layers and grouped heads: losses, gradients, generation."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper, XTransformer

torch.manual_seed(0)
ids = torch.randint(1, 40, (2, 12))
for options in (
    {},
    {"rotary_pos_emb": True, "ff_glu": True, "use_rmsnorm": True},
    {"attn_kv_heads": 2, "attn_qk_norm": True},
    {"alibi_pos_bias": True, "shift_tokens": 1},
):
    layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=40, max_seq_len=24, attn_layers=layers))
    loss = model(ids)
    loss.backward()
    print(loss.item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
model.eval()
print(model.generate(ids[:, :3], 6, temperature=0.0).tolist())
encoder = TransformerWrapper(num_tokens=40, max_seq_len=24, attn_layers=Encoder(dim=32, depth=1, heads=2))
print(encoder(ids, mask=ids > 5, return_embeddings=True).abs().sum().item())
both = XTransformer(
    dim=32, enc_num_tokens=40, enc_depth=1, enc_heads=2, enc_max_seq_len=24, dec_num_tokens=40, dec_depth=1,
    dec_heads=2, dec_max_seq_len=24,
)  # fmt: skip
print(both(ids, ids, mask=torch.ones_like(ids, dtype=torch.bool)).item())
