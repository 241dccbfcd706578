"""Who may stand between a number and what they did: "9 customers cancelled"."""

# ruff: noqa: SIM905 - a list of words reads best as one line
from __future__ import annotations

from workers.agent.provenance.language.words import stem

PEOPLE = frozenset(
    map(
        stem,
        "customer client buyer user person people employee member subscriber kunde kunden kundin personen mitarbeiter "
        "nutzer mitglieder cliente usuario persona empleado personne utilisateur abonné membre".split(),
    )
)
CJK_PEOPLE = frozenset("客户人顧員员用户会")
"""The signs of such words in Chinese and Japanese."""
