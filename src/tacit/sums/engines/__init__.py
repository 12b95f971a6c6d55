"""Engines: the only parts that add up what cleaned records contribute; in memory, or where the records are."""
