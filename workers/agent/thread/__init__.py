"""A thread as a whole: which steps count, which turn gets its mail, its states, what forks and exports take. Pure."""
