"""What a thread's outputs say, as facts: values with their places and the labels of their rows and columns."""
