"""The cells of the offline analyst as Python functions. Their source is copied into cells; nothing imports them.

Positional parameters are variables of the session, keyword parameters are given when `cells.py` composes the cell.
"""
