"""The tests of a program, and broken programs that show what a test is worth."""
