"""The files of a thread: those that people give, those that cells make, and the host's folder, which keeps them."""
