"""Honest accounts of what was released: the privacy card; commands and the service write the page that people read."""

from tacit.reports.card import Card, card_of_ledger, card_of_model

__all__ = ["Card", "card_of_ledger", "card_of_model"]
