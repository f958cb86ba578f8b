"""The language in which ops are declared and published."""
