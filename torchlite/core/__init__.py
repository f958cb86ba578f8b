"""What every tensor is made of. Nothing here imports from the rooms above."""
