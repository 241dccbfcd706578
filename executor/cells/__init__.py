"""The cells of a thread in the session host: waiting, running, ended, and what is written down of them."""
