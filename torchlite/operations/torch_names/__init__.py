"""Names that PyTorch has for the ops of other rooms, and for what there is not."""
