"""Everything is a sum over records: what one record may contribute, and the evaluator that adds contributions up.

`language` says what can be computed from one record, `query` which sums there are and how far replacing a record moves
them, `block_sums` what some rows contribute, `evaluator` adds that up.
"""
