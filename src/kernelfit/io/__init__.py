"""Saved models: files of arrays and JSON that cannot execute anything."""
