"""What is done with a report: its layout, its code run again, the check of its figures, a second way to them. Pure."""
