"""What a build leaves behind: its iterations, changes by hand, and the folder that people get."""
