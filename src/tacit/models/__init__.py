"""Fitted models in files: a closed format that holds what predicts, and neither code nor records."""

from tacit.models.file import load, save

__all__ = ["load", "save"]
