"""The oracle, its conversations and rounds, and what they cost."""
