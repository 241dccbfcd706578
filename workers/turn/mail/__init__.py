"""The messages that a turn reads, with what stands around them: the conversation before, the choices of people."""
