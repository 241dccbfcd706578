"""Critics: each looks at one side of a version of a program, and says what it found as data (`verdicts.py`)."""
