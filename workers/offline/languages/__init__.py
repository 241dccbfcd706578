"""What the offline analyst says in each language that has a file of its own; English and Chinese are in report.yaml."""
