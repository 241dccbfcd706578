"""What people press, choose and submit in a thread: a module for each kind of message of ours, and the menu of all."""
