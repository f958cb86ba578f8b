"""Ops that read and write at given places."""
