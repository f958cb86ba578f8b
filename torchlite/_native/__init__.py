"""`torch._native`: kernels written in languages of their own, of which there are none here."""
