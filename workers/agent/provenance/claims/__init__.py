"""What a report claims: its figures, the words around each, and whether a fact of the outputs fits."""
