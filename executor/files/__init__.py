"""The files of a thread: those that people give, those that cells make, and the host's folder for all of them."""
