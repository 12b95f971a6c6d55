"""Work that takes longer than a request: fits, sessions' fits and scores, done once under one ticket."""
