"""Our own suite for `threadbook eval`: generated tables and real ones, and questions whose golds code computes.

`python -m bench.suite FOLDER` writes the files and `suite.jsonl`. Every gold is computed twice, by code that shares
nothing: plain Python over the rows as they were drawn (here), and pandas over the files as they were written
(`tests/unit/bench/`).
"""
