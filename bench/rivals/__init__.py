"""What a user could pick instead of the executor, each behind the same small door (`contestants.Contestant`)."""
