"""Proofs that Coq checks (`make proofs`): the files of theorems, what writes their data, and what holds them to their axioms."""
