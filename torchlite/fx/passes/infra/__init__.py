"""What passes over graphs are, how they are run in order, and how graphs are cut by what can be run elsewhere."""
