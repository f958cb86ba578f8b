"""A small Whisper: spectrograms, logits, greedy tokens."""

import torch
import whisper
from whisper.model import ModelDimensions, Whisper

torch.manual_seed(0)
sound = torch.sin(torch.arange(16000) * 0.05)
mel = whisper.log_mel_spectrogram(sound, n_mels=80)
print(mel.shape, mel.sum().item())
model = Whisper(ModelDimensions(80, 50, 16, 2, 1, 60, 16, 16, 2, 1)).eval()
torch.nn.init.normal_(model.decoder.positional_embedding, std=0.1)
with torch.no_grad():
    logits = model(mel[None, :, :100], torch.tensor([[1, 2, 3]]))
print(logits.shape, logits.sum().item(), logits.argmax(-1).tolist())
