"""What is done with a report: its layout, the check of its figures, its code run again, a second way to it. Pure."""
