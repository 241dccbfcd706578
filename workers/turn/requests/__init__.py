"""What a running cell asks for: rows of data sources and calls of tools, and what is kept of them."""
