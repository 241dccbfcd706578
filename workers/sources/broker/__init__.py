"""The broker: the one process of a node that holds the URLs of the data sources, and what its clients need of it.

    job ──unix socket, mode 0600──> broker ──pool──> driver ──> database
        <── rows: a sealed file in memory, passed as a descriptor

`requests.py` is what both sides say. `client.py` is all that a job imports; it knows no driver and no URL.
"""
