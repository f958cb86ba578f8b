"""What is switched on in a thread, and how it is put back."""
