"""Losses: what they declare, and those that are proved."""
