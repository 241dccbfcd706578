"""The packages of a program: wheels found, locked by hash, and unpacked without trust."""
