"""The certified solvers of the dual of one task."""
