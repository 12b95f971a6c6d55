"""Everything is a sum over records: what one record may contribute, and engines that add contributions up.

`language` says what can be computed from one record, `query` which sums there are and how far replacing a record moves
them, `engines` add them up, in memory or where the records are.
"""
