"""One subprocess as the host holds it: its pipes, its use of the machine, the spare ones, the check of the sandbox."""
