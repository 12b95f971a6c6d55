"""Clipped rows, in blocks, dense or sparse."""
