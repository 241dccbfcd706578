"""Code of a thread in sessions of their own, with nothing but the thread's inputs: checks, second ways, trials."""
