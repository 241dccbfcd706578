"""The subprocess world.

A session host, its zygote, one Python subprocess per thread. Standard library only (see PROTOCOL.md).
"""
