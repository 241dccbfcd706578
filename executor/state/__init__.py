"""The variables of a thread, as the host keeps them: received, checked, signed, restored."""
