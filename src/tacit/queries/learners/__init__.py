"""Learners that ask statistical queries and nothing else."""
