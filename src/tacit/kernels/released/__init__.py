"""Models that leave the learner."""
