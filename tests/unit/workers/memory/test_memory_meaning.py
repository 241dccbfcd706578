"""What of a thread goes to an embedding model, and which threads are near to some words."""

from __future__ import annotations

from core.steps import Asked, CellRan, Changed, Finished, Masked, Replied, Said, Step
from core.store.vectors import ThreadVectors
from workers.memory.meaning.nearness import nearest, packed
from workers.memory.meaning.pieces import MOST_PIECES, PIECE_CHARS, masked_words, pieces_of

CODE = CellRan(call_id="c", cell_id="x", title="Look", code="secret_code()", stdout="99", status="ok")


def asked(text: str, ts: str = "1.0") -> Asked:
    return Asked(user="U1", author="Ana", text=text, ts=ts)


def test_questions_reports_and_the_description_are_sent_and_no_code_and_no_output() -> None:
    turns: list[list[Step]] = [[asked("How did\n churn go?"), CODE, Finished(report="12 % left.")]]
    assert pieces_of(turns, "Churn of March", ()) == ["Churn of March", "How did churn go?", "12 % left."]


def test_what_was_left_out_or_edited_is_sent_as_it_counts() -> None:
    turns: list[list[Step]] = [
        [asked("Ana's salary is 9,000"), asked("And churn?", "2.0"), Finished(report="12 %.")],
        [
            Changed(do="leave_out", target="message:1.0", user="U1", author="Ana", ts="3.0"),
            Changed(do="edit", target="report:1", text="13 %.", user="U1", author="Ana", ts="4.0"),
        ],
    ]
    assert pieces_of(turns, "", ()) == ["And churn?", "13 %."]


def test_personal_values_are_masked_in_texts_and_in_searches() -> None:
    masked = Masked(placeholder="<email_1>", value="ana@example.com")
    turns: list[list[Step]] = [
        [
            asked("Write to ben@example.com and ana@example.com"),
            Replied(purpose="act", text="", masked=(masked,)),
            Finished(report="Done."),
        ]
    ]
    assert pieces_of(turns, "of ana@example.com", ("email",)) == [
        "of <email_1>",
        "Write to <email_2> and <email_1>",
        "Done.",
    ]
    assert masked_words("mails of ana@example.com", ("email",)) == "mails of <email_1>"


def test_a_long_thread_gives_its_first_question_and_its_last_words_each_of_them_cut() -> None:
    turns: list[list[Step]] = [
        [asked(f"question {number}", f"{number}.0"), Finished(report=f"report {number} " + "x" * 5_000)]
        for number in range(20)
    ]
    pieces = pieces_of(turns, "about", ())
    assert len(pieces) == MOST_PIECES
    assert pieces[:2] == ["about", "question 0"]
    assert [piece[:11].strip() for piece in pieces[-2:]] == ["question 19", "report 19 x"]
    assert max(map(len, pieces)) == PIECE_CHARS


def test_an_imported_conversation_is_read_and_what_is_no_text_is_not() -> None:
    said: list[Step] = [
        Said(message={"role": role, "content": content})
        for role, content in (("system", "rules"), ("user", "herons?"), ("assistant", None), ("tool", "99"))
    ]
    assert pieces_of([said], "", ()) == ["herons?"]


def vectors(thread_id: str, *rows: list[float]) -> ThreadVectors:
    return ThreadVectors(thread_id, *packed(rows))


def test_the_nearest_piece_of_a_thread_counts_and_what_is_too_far_is_not_found() -> None:
    threads = [vectors("far", [0.0, 3.0]), vectors("near", [0.0, 1.0], [9.0, 0.1]), vectors("half", [1.0, 1.0])]
    assert nearest([2.0, 0.0], threads, 0.35) == ["near", "half"]
    assert nearest([2.0, 0.0], threads, 0.9) == ["near"]


def test_vectors_of_another_length_and_more_than_the_limit_are_not_looked_at() -> None:
    threads = [vectors("other", [1.0, 0.0, 0.0]), vectors("new", [1.0, 0.0]), vectors("old", [1.0, 0.0])]
    assert nearest([1.0, 0.0], threads, 0.5) == ["new", "old"]
    assert nearest([1.0, 0.0], threads, 0.5, most_bytes=10) == ["new"]
    assert packed([]) == (0, b"")
