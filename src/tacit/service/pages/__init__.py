"""Pages for people: written by the server, working without a script, loading nothing from anywhere else."""
