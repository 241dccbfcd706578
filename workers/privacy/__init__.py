"""Masks personal values in what goes to a model, and puts them back in code that the sandbox runs. Pure text."""
