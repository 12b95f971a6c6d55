"""Reading records, once: one small file a kind of source. Each says what its catalogue knows and yields raw batches."""
