"""Certified kernel models in the span of their records."""
