"""The choice among 200 playbooks: `python -m bench playbooks`.

Twenty subjects times ten analyses make 200 playbooks that share their words: nineteen others are about the same
analysis, nine about the same subject. Each is asked for in three ways that its page does not have, half of them with a
file. The unrelated questions are the same analyses of other subjects, other questions about the same subjects, and
questions about neither.
"""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass

from bench.goals import p99
from core.steps import ColumnNote, FileAbstract, TableNote
from workers.memory.playbooks.matching import Candidate, PlaybookIndex
from workers.memory.playbooks.page import Input, Playbook, PlaybookStage

RIGHT, NONE, CHOSEN_MS = 0.95, 0.98, 50.0
SEED = 16

SUBJECTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "customers": (("clients",), ("customer_id", "signup_date", "plan", "churned")),
    "invoices": (("bills",), ("invoice_no", "due_date", "net_amount", "paid_on")),
    "warehouse stock": (("inventory",), ("sku", "on_hand", "reorder_level", "bin")),
    "support tickets": (("service requests",), ("ticket_id", "opened_at", "closed_at", "severity")),
    "marketing campaigns": (("adverts",), ("campaign", "impressions", "clicks", "spend")),
    "employee hours": (("working time",), ("employee", "week", "hours", "overtime")),
    "machine failures": (("breakdowns",), ("machine", "failed_at", "downtime_min", "cause")),
    "web sessions": (("visits",), ("session_id", "landing_page", "bounced", "device")),
    "loans": (("credits",), ("loan_id", "principal", "rate", "default_flag")),
    "flights": (("departures",), ("flight_no", "scheduled", "actual", "carrier")),
    "patients": (("admissions",), ("patient_id", "ward", "admitted", "discharged")),
    "exam results": (("test scores",), ("student", "subject", "score", "term")),
    "energy meters": (("power consumption",), ("meter_id", "kwh", "read_at", "tariff")),
    "insurance claims": (("damage reports",), ("claim_id", "reserve", "settled", "line")),
    "deliveries": (("parcels",), ("parcel_id", "promised", "delivered_on", "depot")),
    "restaurant orders": (("meals",), ("table_no", "dish", "price", "waiter")),
    "suppliers": (("vendors",), ("supplier", "lead_time", "defects", "contract")),
    "subscriptions": (("memberships",), ("subscription_id", "started", "ended", "tier")),
    "donations": (("gifts",), ("donor", "gift_date", "gift_amount", "appeal")),
    "apartments": (("flats",), ("unit", "rent", "square_m", "vacant_since")),
}
ANALYSES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "monthly trend": (
        "How did {s} develop month by month?",
        (
            "plot the monthly trend of {s}",
            "{s}: trend over the months please",
            "is the trend of {s} going up per month",
        ),
        "Sum per month",
    ),
    "outliers": (
        "Which {s} are unusual?",
        ("find outliers among the {s}", "any outliers in our {s}", "show me {s} that are outliers"),
        "Flag by IQR",
    ),
    "top ten ranking": (
        "Which {s} are the top ten?",
        ("ranking of the top {s}", "top ten {s}, please", "rank our {s} and give the top ten"),
        "Rank them",
    ),
    "year on year comparison": (
        "How do {s} compare with last year?",
        (
            "compare {s} with the year before",
            "year on year comparison for {s}",
            "{s} this year against last year, a comparison",
        ),
        "Join both years",
    ),
    "forecast": (
        "What will {s} be next quarter?",
        ("forecast the {s} for the next quarter", "we need a forecast of {s}", "{s}: forecast until December"),
        "Fit a model",
    ),
    "data quality": (
        "Is the data of {s} complete?",
        ("check the data quality of {s}", "data quality of our {s}?", "how good is the quality of the {s} data"),
        "Count what is missing",
    ),
    "cohort retention": (
        "How many {s} of each cohort stay?",
        ("retention of {s} by cohort", "cohort retention for {s}", "build cohorts of {s} and their retention"),
        "Build the cohorts",
    ),
    "cost breakdown": (
        "What do {s} cost, by kind?",
        (
            "break down the cost of {s}",
            "cost breakdown for {s}",
            "where does the cost of our {s} come from, as a breakdown",
        ),
        "Group the cost",
    ),
    "correlation": (
        "What goes along with {s}?",
        ("correlation analysis of {s}", "what correlates with {s}", "correlation between {s} and everything else"),
        "Correlate",
    ),
    "segmentation": (
        "Which groups of {s} are there?",
        ("segmentation of the {s}", "split {s} into segments", "do a segmentation for {s}"),
        "Cluster them",
    ),
}
STRANGERS = (
    "satellites",
    "football matches",
    "library books",
    "vaccines",
    "mushrooms",
    "rivers",
    "paintings",
    "podcasts",
    "court cases",
    "fish catches",
)
OTHERS = (
    "list the names in the {s} file", "how many rows has the {s} table", "rename the columns of {s}",
    "what does the second column of {s} mean", "convert {s} to a spreadsheet", "who sent the {s} file",
    "sort {s} by name", "how do I open the {s} file",
)  # fmt: skip
NEITHER = (
    "what is the weather in Rome", "write a poem about Slack", "how do I read a p-value", "thanks, that helped a lot",
    "who are you", "what is the capital of Peru", "translate this sentence into French", "is 17 a prime number",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its file; `right` is the place of the playbook that it needs, None for none."""

    text: str
    files: tuple[FileAbstract, ...]
    right: int | None


def world() -> tuple[PlaybookIndex, list[Question]]:
    """The playbooks and the questions."""
    chance = random.Random(SEED)
    candidates: list[Candidate] = []
    questions: list[Question] = []
    for subject, (synonyms, columns) in SUBJECTS.items():
        for name, (when, asked, stage) in ANALYSES.items():
            book = Playbook(
                name=f"{subject.capitalize()}: {name}",
                when=when.format(s=subject),
                stages=(PlaybookStage(f"Load the {subject}", "rows", "x"), PlaybookStage(stage, "a table", "y")),
                words=synonyms,
                inputs=(Input(file=f"{subject.replace(' ', '_')}.csv", columns=columns),),
            )
            place = len(candidates)
            candidates.append(Candidate(f"{place}.md", "", book))
            for number, one in enumerate(asked):
                said = synonyms[0] if number == len(asked) - 1 else subject
                questions.append(Question(one.format(s=said), _files(columns, chance), place))
    every = [columns for _, columns in SUBJECTS.values()]
    for _, asked, _ in ANALYSES.values():
        strange = [one.format(s=name) for one in asked for name in STRANGERS]
        questions += [Question(text, _file("x", "y", "label"), None) for text in strange]
    for subject, (_, columns) in SUBJECTS.items():
        questions += [Question(one.format(s=subject), _files(columns, chance), None) for one in OTHERS]
    questions += [Question(text, _files(chance.choice(every), chance), None) for text in NEITHER for _ in range(5)]
    return PlaybookIndex(candidates), questions


def _files(columns: tuple[str, ...], chance: random.Random) -> tuple[FileAbstract, ...]:
    return _file(*columns, "note") if chance.random() < 0.5 else ()


def _file(*columns: str) -> tuple[FileAbstract, ...]:
    table = TableNote(name="t", rows=1, columns=tuple(ColumnNote(name=name, dtype="object") for name in columns))
    return (FileAbstract(path="data.csv", format="csv", size=1, sha256="0" * 64, tables=(table,)),)


def measure() -> dict[str, object]:
    """Measure, print a table, and give the figures."""
    index, questions = world()
    took: list[float] = []
    right = wrong = missed = offered = 0
    for question in questions:
        began = time.perf_counter()
        found = index.match(question.text, question.files)
        took.append((time.perf_counter() - began) * 1e3)
        place = None if found is None else int(found.file.removesuffix(".md"))
        if question.right is None:
            offered += place is not None
        else:
            right += place == question.right
            missed += place is None
            wrong += place not in (None, question.right)
    related = sum(question.right is not None for question in questions)
    unrelated = len(questions) - related
    shares = right / related, 1 - offered / unrelated
    print("| questions | asked | as they should be | goal |\n| --- | --- | --- | --- |")
    print(
        f"| need a playbook: the right one of {len(index.candidates)} | {related} | {shares[0]:.1%} | ≥ {RIGHT:.0%} |"
    )
    print(f"| need none: none is offered | {unrelated} | {shares[1]:.1%} | ≥ {NONE:.0%} |")
    print(f"a wrong one for {wrong}, none for {missed}; chosen in {statistics.median(took):.2f} ms, "
          f"p99 {p99(took):.2f} ms (goal: < {CHOSEN_MS:g} ms)")  # fmt: skip
    return {"related": related, "right": right, "wrong": wrong, "missed": missed, "unrelated": unrelated,
            "offered": offered, "median_ms": statistics.median(took), "p99_ms": p99(took)}  # fmt: skip
