"""A thread's session in the file store, so that the thread can go on at another node."""
