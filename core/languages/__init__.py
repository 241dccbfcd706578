"""What people read in German, Spanish, French and Japanese, a file each. English and Chinese: `phrases.yaml`."""
