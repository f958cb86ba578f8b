"""What `torch.library` is made of: schemas, and how a function's annotations tell one."""
