"""What people press, choose and submit in a thread: one module for each kind of message of ours."""
