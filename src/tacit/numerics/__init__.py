"""Arithmetic that every room uses: exact sums, threads, one bisection, arrays."""
