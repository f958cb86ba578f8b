"""Attacks on a small classifier of images: by one step, by many, by optimisation, and those that spare pixels."""

import torch
import torchattacks

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(4), torch.nn.Flatten(),
    torch.nn.Linear(8 * 4 * 4, 10),
).eval()  # fmt: skip
images, labels = torch.rand(4, 3, 16, 16), torch.tensor([1, 3, 5, 7])

ATTACKS = {
    "FGSM": torchattacks.FGSM(model, eps=8 / 255),
    "BIM": torchattacks.BIM(model, eps=8 / 255, alpha=2 / 255, steps=4),
    "PGD": torchattacks.PGD(model, eps=8 / 255, alpha=2 / 255, steps=4, random_start=False),
    "PGDL2": torchattacks.PGDL2(model, eps=1.0, alpha=0.3, steps=4, random_start=False),
    "MIFGSM": torchattacks.MIFGSM(model, steps=4),
    "NIFGSM": torchattacks.NIFGSM(model, steps=4),
    "TIFGSM": torchattacks.TIFGSM(model, steps=3, diversity_prob=0.0),
    "CW": torchattacks.CW(model, steps=5),
    "DeepFool": torchattacks.DeepFool(model, steps=5),
    "FFGSM": torchattacks.FFGSM(model),
    "EOTPGD": torchattacks.EOTPGD(model, steps=2, eot_iter=2, random_start=False),
}

for name, attack in ATTACKS.items():
    torch.manual_seed(1)
    changed = attack(images, labels)
    moved = (changed - images).abs()
    print(name, f"{moved.sum().item():.3f} {moved.max().item():.4f}", model(changed).argmax(1).tolist())

targeted = torchattacks.PGD(model, steps=5, random_start=False)
targeted.set_mode_targeted_by_label(quiet=True)
print("targeted", f"{(targeted(images, (labels + 1) % 10) - images).abs().sum().item():.3f}")
