"""The alternatives to the executor, each behind the same small interface (`contestants.Contestant`)."""
