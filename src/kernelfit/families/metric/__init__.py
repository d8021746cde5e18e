"""Metrics: linear maps of the inputs under which a kernel of the distance predicts well."""
