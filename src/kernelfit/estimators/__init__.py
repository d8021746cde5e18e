"""The scikit-learn shells: validate, call a solver, store the fitted attributes."""
