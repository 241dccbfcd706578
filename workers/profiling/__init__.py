"""File profiles: what the analyst is told about a file before any code runs. `inside/` runs in the sandbox."""
