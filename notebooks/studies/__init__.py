"""Studies: grids of runs on the real data, whose results are kept in book/results."""
