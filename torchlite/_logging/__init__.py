"""`torch._logging`: nothing here reports to anyone."""
