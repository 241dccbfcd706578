"""What a turn may use: whose messages it reads, which data sources it asks, which servers of tools it calls."""
