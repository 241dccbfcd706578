"""What a running cell asks for: rows of sources, calls of tools; what is kept of them, what is answered privately."""
