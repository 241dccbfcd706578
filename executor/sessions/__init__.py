"""One subprocess as the host holds it: its pipes, its sandbox's first check, its use of the machine."""
