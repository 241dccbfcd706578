"""The commands of `threadbook`: one module each, and what several of them have in common."""
