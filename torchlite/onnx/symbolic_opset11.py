"""`torch.onnx.symbolic_opset11`: what functions that an export would call are made of; there is no export."""
