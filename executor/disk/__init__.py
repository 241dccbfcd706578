"""Writing that survives a power cut, and how much of the disk a session holds."""
