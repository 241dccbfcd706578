"""What code would do, read from its text without running it: names, files, risks, chance. Pure."""
