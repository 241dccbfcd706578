"""Formulas and tokens with which a model binds a figure to cells, and their check."""
