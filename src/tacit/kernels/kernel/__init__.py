"""Kernels, and the records they take."""
