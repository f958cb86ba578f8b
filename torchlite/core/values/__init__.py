"""What tensors are described by: dtypes, devices, sizes, layouts; and the words of errors."""
