"""Clustering on an affinity: what only the clusterings use, from matrices to estimators."""
