"""Where records are: in memory, in files, in a database, on a cluster. Each source gives cleaned cells only."""
