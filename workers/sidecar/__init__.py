"""What the two processes beside the jobs have in common: the broker of data sources, and the process of tools.

Each holds secrets that no job may have, and answers one request per connection on a socket of this user.
"""
