"""Code in sessions of its own, with nothing but a thread's inputs: checks of reports, second ways, trials."""
