"""Reports that are made again and again: when they are due, whether the data still fit, and what is told."""
