"""Git repositories that people name: found in a message, cloned in a jail, handed on as an archive."""
