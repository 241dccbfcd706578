"""The Python and the bash of a thread: their subprocesses, from the start to the end."""
