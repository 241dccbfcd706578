"""Conversations of other tools, read from a file and brought into the form of a thread's steps.

`jsonl.py` reads one conversation a line as OpenAI has it, `model_programmer.py` reads a database of ModelProgrammer.
`messages.py` is what a message may be, `conversation.py` is what both make. `composing.py` makes messages of pieces of
our own threads. Nothing here stores or runs anything.
"""
