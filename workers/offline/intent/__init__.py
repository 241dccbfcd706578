"""What a message asks for, in terms of the columns at hand; and how a follow-up changes what was asked before.

clauses (its questions) → hearing (what each names) → following (changes what was asked) or fresh (asks again)
"""

from workers.offline.intent.hearing import Known
from workers.offline.intent.understanding import understand

__all__ = ["Known", "understand"]
