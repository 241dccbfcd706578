"""What the offline analyst says in each language but English, whose sentences are in report.yaml."""
