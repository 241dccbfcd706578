"""What people read in a thread: the card, charts, questions, endings and reports."""
