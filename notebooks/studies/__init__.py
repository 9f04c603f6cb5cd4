"""Studies: grids of runs on the real data, with results that are kept in book/results."""
