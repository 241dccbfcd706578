"""One turn: which one is next, what its mail asks for, its cells, its model calls, its files, its commands."""
