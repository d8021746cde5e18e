"""Cross-validation that shares work over kernel parameters, C and folds."""
