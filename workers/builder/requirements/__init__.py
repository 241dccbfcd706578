"""What a program shall be: the requirement file, its components, and what they promise each other."""
