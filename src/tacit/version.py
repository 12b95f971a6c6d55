"""The version of this tacit, for whatever is written and read again."""

VERSION = "0.1.0"
