"""Linear algebra shared by families, solvers and learners."""
