"""What runs on a node: the supervisor, the RQ jobs, the janitor, admission, health, and the warm-up."""
