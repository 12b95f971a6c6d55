"""The trusted learner seen from outside: a data set that is asked over HTTP as if it were here."""

from tacit.client.client import Client

__all__ = ["Client"]
