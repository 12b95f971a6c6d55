"""The store: cleaned cells of records that were read once, in small types, in memory or in a private file."""
