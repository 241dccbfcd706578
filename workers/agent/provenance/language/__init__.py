"""What words and numbers mean, in six languages: units, scales, directions, numerals, dates."""
