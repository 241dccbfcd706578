"""Where programs run while they are built, and which languages can run there."""
