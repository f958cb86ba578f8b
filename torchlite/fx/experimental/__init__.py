"""What is done with graphs, and may change."""
