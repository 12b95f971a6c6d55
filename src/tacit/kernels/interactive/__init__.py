"""Answers on demand from a secret model."""
