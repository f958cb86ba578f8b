"""What a call is made of: tensors, nodes, views, what is saved, plans."""
