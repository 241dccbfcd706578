"""Reports that are made again and again: what is kept of them, and the words that order them. Pure."""
