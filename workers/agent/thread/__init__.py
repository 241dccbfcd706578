"""A thread as a whole: which steps count, who gets its mail, its states, what a fork or an export takes. Pure."""
