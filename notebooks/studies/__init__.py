"""Studies, which are grids of runs on the real data; their results are kept in book/results."""
