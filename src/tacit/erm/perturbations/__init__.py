"""Where the noise goes in, how much, and the ridge that goes with it."""
