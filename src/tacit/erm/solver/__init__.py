"""Certified minimisers of a regularised risk."""
