"""The buttons under a report: what each shows or does, for whom, after a restart, twice, and for strangers.

The presses go through the bot's own listeners, on the Slack of whole turns.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

import fakeredis
import pytest
from turn_world import ANA, BEN, Json, Meanwhile, NewWorld, World, cell, finish, question

from bot.message_handler import MessageHandler
from bot.presses.reports import Reports
from core.blobs import Blobs
from core.formats import FORMATS
from core.interactions import PageButton, ReasonForm, ReportButton
from core.purging import purge_thread
from core.queue import Wakes
from core.slack.views.reports import reason_field
from core.slack.writing.writer import SlackWriter
from core.steps import Asked
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

TOTALS = 'print("North 120")\nprint("South 100")'
ANSWER = "North sold 120 units, 20 % more than South with 100. Nobody sold 4711."


class AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Desk:
    """A thread that ends with a report, and the bot that people press at. Each press meets a bot that just started."""

    def __init__(
        self, world: World, *replies: Json, question: str = "how much?", files: Mapping[str, bytes] | None = None
    ) -> None:
        script = replies or (cell(TOTALS, "Totals"), *[finish(ANSWER)] * 12)
        world.model = Meanwhile(ScriptedModel(list(script)), {})
        self.world = world
        self.key: ThreadKey = world.say(question, files=files)
        world.settle(self.key)

    @property
    def bot(self) -> Reports:
        world = self.world
        slack = SlackWriter(world.slack.client(), world.store)
        wakes = Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), world.store)
        handler = MessageHandler(
            settings=world.settings, store=world.store, wakes=wakes, slack=slack, later=AtOnce(), lookups=AtOnce()
        )
        return Reports(world.store, slack, handler)

    @property
    def turn(self) -> str:
        return self.world.turns(self.key)[0].id

    def report(self) -> Json:
        """The message with the buttons of the first report."""
        return next(
            message
            for message in self.world.messages(self.key, ours=True)
            if any(block["type"] == "actions" and "👍" in str(block) for block in message.get("blocks") or ())
        )

    def press(self, do: Any, *, user: str = ANA, team: str = "", channel: str = "", trigger: str = "1.2.x") -> str:
        with self.world._unwatched():
            chosen = {"value": ReportButton(turn=self.turn, do=do).encode()}
            in_menu = do == "download" or do in FORMATS
            action = {**({"selected_option": chosen} if in_menu else chosen), "action_ts": self.world.slack._next_ts()}
            container = {"channel_id": channel or self.key.channel, "message_ts": self.report()["ts"]}
            body = {"actions": [action], "container": container, "user": {"id": user}, "trigger_id": trigger}
            return self.bot.press(body, team or self.key.team)

    def turn_page(self, page: int, shows: Any = "sources", *, user: str = ANA) -> str:
        with self.world._unwatched():
            value = PageButton(turn=self.turn, shows=shows, page=page).encode()
            action = {"value": value, "action_ts": self.world.slack._next_ts()}
            body = {"actions": [action], "view": {"id": "V1", "hash": "1.a"}, "user": {"id": user}}
            return self.bot.turn_page(body, self.key.team)

    def say_why(self, reason: str, *, user: str = ANA) -> str:
        with self.world._unwatched():
            form = ReasonForm(turn=self.turn)
            values = {reason_field(): {reason_field(): {"value": reason}}}
            view = {"callback_id": form.id, "private_metadata": form.encode(), "state": {"values": values}}
            return self.bot.submit({"view": view, "user": {"id": user}}, self.key.team)

    @property
    def opened(self) -> list[str]:
        """The text of each modal that was opened or changed, in order."""
        return [message_text({"blocks": view["blocks"]}) for view in self.world.slack.views]


@pytest.fixture
def desk(new_world: NewWorld) -> Desk:
    return Desk(new_world())


def test_a_report_ends_with_its_buttons(desk: Desk) -> None:
    *buttons, menu = desk.report()["blocks"][-1]["elements"]
    assert menu["options"][0]["text"]["text"] == "Download all"
    assert [button["text"]["text"] for button in buttons] == [
        "Sources",
        "Show code",
        "👍",
        "👎",
        "Run again",
        "Keep as playbook",
        "Make this a program",
        "Share to channel",
    ]


def test_a_report_without_a_cell_that_ran_to_its_end_offers_nothing_to_keep(new_world: NewWorld) -> None:
    desk = Desk(new_world(), cell("1 / 0", "Totals"), *[finish("I could not compute it.")] * 12)
    *buttons, _ = desk.report()["blocks"][-1]["elements"]
    shown = [button["text"]["text"] for button in buttons]
    assert "Show code" in shown
    assert not {"Keep as playbook", "Make this a program"} & set(shown)


def test_sources_lead_from_the_figure_to_the_cell_to_its_line(desk: Desk) -> None:
    assert desk.press("sources") == "shown"
    (text,) = desk.opened
    assert "120 ← cell 1 “Totals”, line 1" in text
    assert "North 120" in text
    assert "change in percent: (120 − 100) / 100 × 100 = 20" in text
    assert "⚠ 4711 ← ⚠ not computed here" in text
    assert "4 figures: 2 shown by a cell, 1 computed from such figures, ⚠ 1 not computed here." in text


def test_the_modal_speaks_the_language_of_the_thread(new_world: NewWorld) -> None:
    desk = Desk(new_world(), cell(TOTALS, "合计"), *[finish("北方卖了 120 件。")] * 4, question="北方卖了多少？")
    desk.press("sources")
    assert "120 ← 单元 1“合计”，第 1 行" in desk.opened[0]
    assert desk.world.slack.views[0]["title"]["text"] == "来源"


def test_a_report_without_traced_figures_says_so(new_world: NewWorld) -> None:
    desk = Desk(new_world(), finish("Hello."))
    assert desk.press("sources") == "shown"
    assert "No figure of this report was looked up" in desk.opened[0]


def test_lines_are_not_shown_once_the_thread_was_reset(desk: Desk) -> None:
    world = desk.world
    world.say("reset", thread=desk.key)
    world.settle(desk.key)
    world.say("yes", thread=desk.key)
    world.settle(desk.key)
    desk.press("sources")
    assert "120 ← cell 1 “Totals”, line 1" in desk.opened[0]
    assert "North 120" not in desk.opened[0]


def test_the_code_is_shown_as_it_ran(desk: Desk) -> None:
    assert desk.press("code") == "shown"
    assert "1. Totals" in desk.opened[0]
    assert TOTALS in desk.opened[0]


def test_a_long_program_has_pages(new_world: NewWorld) -> None:
    code = "x = 1\n" + "# a line that says nothing\n" * 400
    cells = [cell(code + f"y = {n}", f"Step {n}") for n in range(5)]
    desk = Desk(new_world(), *cells, finish("Done."))
    desk.press("code")
    assert "Page 1 of 2" in desk.opened[0]
    assert desk.turn_page(1, "code") == "turned"
    assert "Page 2 of 2" in desk.opened[1]
    assert "y = 4" in desk.opened[1]
    assert desk.turn_page(900, "code") == "turned"


def test_a_page_of_a_private_channel_is_not_turned_to_by_who_is_not_in_it(desk: Desk) -> None:
    desk.world.slack.channel_flags["is_private"] = True
    desk.world.slack.channels[desk.key.channel]["members"] = [ANA]
    assert desk.turn_page(0, "code", user=BEN) == "refused"
    assert desk.opened == []
    assert desk.turn_page(0, "code") == "turned"


@pytest.mark.parametrize("do", ["sources", "code", "up", "down", "download", "again", "share"])
def test_who_may_not_look_is_told_and_nothing_happens(new_world: NewWorld, do: str) -> None:
    desk = Desk(new_world(team=f'[access]\nlook = ["{ANA}"]\nask = ["{ANA}"]\n'))
    turns = len(desk.world.turns(desk.key))
    desk.press(do, user=BEN)
    desk.world.settle(desk.key)
    assert desk.world.slack.views == []
    assert desk.world.store.votes(desk.turn) == []
    assert len(desk.world.turns(desk.key)) == turns
    said = [text for _, text in desk.world.slack.whispers] + [desk.world.text(desk.key)]
    assert any("you may not do this here" in text for text in said)


@pytest.mark.parametrize("do", ["sources", "code", "up", "again", "download", "share"])
def test_who_presses_a_button_of_a_purged_thread_is_told_that_nothing_is_kept(
    desk: Desk, do: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = desk.turn
    purge_thread(desk.world.store, Blobs(desk.world.settings.files), desk.world._redis, desk.key.id)
    monkeypatch.setattr(Desk, "turn", turn)
    assert desk.press(do) == "not kept"
    assert [(user, "not kept here any more" in text) for user, text in desk.world.slack.whispers] == [(ANA, True)]
    assert desk.world.slack.views == []
    assert desk.world.store.purge_counts(desk.key.id) == {}, "nothing of the press is kept"
    assert desk.press(do, channel="C0OTHER001") == "unknown"


@pytest.mark.parametrize("do", ["sources", "code", "up", "again", "download", "share"])
def test_a_press_from_elsewhere_means_nothing(desk: Desk, do: str) -> None:
    assert desk.press(do, channel="C0OTHER001") == "unknown"
    assert desk.press(do, team="T0OTHER001") == "unknown"
    assert desk.world.slack.views == []


def test_a_trigger_that_slack_refuses_is_told(desk: Desk) -> None:
    desk.press("sources", trigger="")
    assert desk.world.slack.whispers[-1][1].startswith("Slack did not open the window")


def test_a_vote_and_a_badge_that_are_drawn_at_the_same_moment_both_stand(desk: Desk) -> None:
    desk.world.slack.fault("chat.update", then=desk.world.check)  # the vote is about to be drawn
    desk.press("up")
    assert "👍 1 · 👎 0" in message_text(desk.report())
    assert "Reproduced in" in message_text(desk.report()), "the vote was drawn on blocks without the badge"


def test_a_badge_that_is_drawn_while_somebody_votes_keeps_the_vote(desk: Desk) -> None:
    desk.world.slack.fault("chat.update", then=lambda: desk.press("up"))  # the badge is about to be drawn
    desk.world.check()
    assert "👍 1 · 👎 0" in message_text(desk.report())
    assert "Reproduced in" in message_text(desk.report())


def shared(desk: Desk) -> list[Json]:
    mine = desk.world.messages(desk.key, ours=True)
    return [message for message in mine if message.get("subtype") == "thread_broadcast"]


def test_a_report_is_shared_to_the_channel_once_whoever_presses(desk: Desk) -> None:
    assert desk.press("share", user=BEN) == "taken"
    assert desk.press("share", user=BEN) == "known"
    assert desk.press("share", user=ANA) == "known"
    (message,) = shared(desk)
    text = message_text(message)
    assert "ben shares a report from this thread:" in text
    assert "North sold 120 units" in text
    assert desk.world.slack.whispers[-1] == (ANA, "This report is already in the channel.")


def test_two_who_share_at_once_and_a_lost_reply_post_one_message(desk: Desk) -> None:
    desk.world.slack.fault("chat.postMessage", "drop_reply", then=lambda: desk.press("share", user=BEN))
    desk.press("share")
    assert len(shared(desk)) == 1


def test_what_slack_does_not_take_is_told_and_can_be_pressed_again(desk: Desk) -> None:
    desk.world.slack.fault("chat.postMessage", "error", error="restricted_action")
    desk.press("share")
    assert "the report is not in the channel" in desk.world.slack.whispers[-1][1]
    desk.press("share")
    assert len(shared(desk)) == 1


def test_a_long_report_is_shared_by_its_beginning_and_pings_nobody(new_world: NewWorld) -> None:
    desk = Desk(new_world(), *[finish("Hello <!channel>.\n\n" + "A line that says nothing.\n\n" * 100)] * 3)
    desk.press("share")
    text = message_text(shared(desk)[0])
    assert len(text) < 1_000
    assert text.rstrip().endswith("…")


def test_votes_are_counted_once_per_person_and_shown_with_reasons(desk: Desk) -> None:
    desk.press("up")
    desk.press("up")
    assert "👍 1 · 👎 0" in message_text(desk.report())
    assert desk.press("down", user=BEN) == "voted"
    assert desk.say_why("the wrong <year> <!channel>", user=BEN) == "taken"
    text = message_text(desk.report())
    assert "👍 1 · 👎 1" in text
    assert "the wrong &lt;year&gt; &lt;!channel&gt;" in str(desk.report()["blocks"][-1])
    desk.press("up", user=BEN)
    assert "👍 2 · 👎 0" in message_text(desk.report())
    assert "wrong" not in message_text(desk.report())


def test_a_reason_without_a_vote_is_dropped(desk: Desk) -> None:
    assert desk.say_why("because") == "no vote"
    assert "because" not in message_text(desk.report())


def test_the_form_holds_the_reason_that_was_given_before(desk: Desk) -> None:
    desk.press("down")
    desk.say_why("the wrong year")
    desk.press("down")
    assert desk.world.slack.views[-1]["blocks"][0]["element"]["initial_value"] == "the wrong year"


def test_run_again_asks_the_same_question_once_for_everybody(desk: Desk) -> None:
    assert desk.press("again", user=BEN) == "taken"
    assert desk.press("again") in ("known", "busy")
    desk.world.settle(desk.key)
    assert desk.press("again") == "known"
    assert [turn.status for turn in desk.world.turns(desk.key)] == ["done", "done"]
    turns = desk.world.store.thread_steps(desk.key.id).values()
    asked = [step for steps in turns for step in steps if isinstance(step, Asked)]
    assert [(step.text, step.user) for step in asked] == [("how much?", ANA), ("how much?", BEN)]
    assert "asked again: how much?" in desk.world.text(desk.key)


def test_run_again_works_on_a_question_that_was_nothing_but_a_file(new_world: NewWorld) -> None:
    read = cell("print(open('sales.csv').read())", "Read")
    files = {"sales.csv": b"region,units\nNorth,120\nSouth,100\n"}
    desk = Desk(new_world(), read, *[finish(ANSWER)] * 12, question="", files=files)
    assert desk.press("again", user=BEN) == "taken"
    desk.world.settle(desk.key)
    assert [turn.status for turn in desk.world.turns(desk.key)] == ["done", "done"]
    assert "asked again: Analyse this message." in desk.world.text(desk.key)


def test_bytes_of_a_stranger_do_nothing(desk: Desk) -> None:
    for body in ({}, {"actions": []}, {"actions": [{"value": "x"}], "container": {}, "user": {"id": "U"}}, {"view": 1}):
        assert desk.bot.press(body, "T") == "malformed"
        assert desk.bot.turn_page(body, "T") in ("malformed", "unknown")
        assert desk.bot.submit(body, "T") == "malformed"


def packed(desk: Desk) -> zipfile.ZipFile:
    """The zip in the thread."""
    (file,) = (
        file
        for message in desk.world.messages(desk.key)
        for file in message.get("files") or ()
        if file["name"] == "analysis.zip"
    )
    return zipfile.ZipFile(io.BytesIO(desk.world.slack.content(file["id"])))


def test_download_all_posts_one_zip_of_the_thread(desk: Desk) -> None:
    assert desk.press("download", user=BEN) == "taken"
    desk.world.settle(desk.key)
    assert {"report.html", "report.md", "analysis.ipynb", "analysis.py", "Makefile"} <= set(packed(desk).namelist())
    assert desk.world.statuses(desk.key) == ["done"]


def test_the_zip_is_posted_once_for_each_report(desk: Desk) -> None:
    for _ in range(2):
        desk.press("download")
        desk.world.settle(desk.key)
    packed(desk)
    assert "analysis.zip above has everything up to the last report" in desk.world.text(desk.key)


def test_after_own_code_the_zip_before_it_is_not_called_complete(desk: Desk) -> None:
    for word in ("download", "run ```open('more.csv', 'w').write('x')```", "download"):
        desk.world.say(word, thread=desk.key)
        desk.world.settle(desk.key)
    assert "What came after it will be in the zip of the next report" in desk.world.text(desk.key)
    assert "nothing was added" not in desk.world.text(desk.key)


def test_a_first_zip_after_own_code_says_that_it_is_not_in_it(desk: Desk) -> None:
    for word in ("run ```kestrel = 1```", "download"):
        desk.world.say(word, thread=desk.key)
        desk.world.settle(desk.key)
    assert b"kestrel" not in packed(desk).read("analysis.py")
    assert "What ran after the last report is not in it" in desk.world.text(desk.key)


def test_the_words_do_what_the_button_does(desk: Desk) -> None:
    desk.world.say("download all", thread=desk.key)
    desk.world.settle(desk.key)
    packed(desk)


def test_a_thread_without_a_report_has_nothing_to_download(new_world: NewWorld) -> None:
    world = new_world()
    world.model = ScriptedModel([question("Which year?")])
    key = world.say("how much?")
    world.settle(key)
    world.say("stop", thread=key)
    world.settle(key)
    world.say("download", thread=key)
    world.settle(key)
    assert "There is no report in this thread yet" in world.text(key)


TABLE = "**North sold 120 units.**\n\n| Region | Units |\n|---|---|\n| North | 120 |\n| South | 100 |"


def posted(desk: Desk) -> list[str]:
    """The names of the files in the thread that are a report in another format."""
    ends = (".pptx", ".pdf", ".xlsx", ".csv")
    files = (file for message in desk.world.messages(desk.key) for file in message.get("files") or ())
    return [file["name"] for file in files if file["name"].endswith(ends)]


@pytest.mark.parametrize(
    ("do", "words", "names"),
    [
        ("slides", "as slides", ["report.pptx"]),
        ("pdf", "as PDF", ["report.pdf"]),
        ("excel", "as Excel, please", ["tables.xlsx"]),
        ("csv", "as CSV", ["answer.csv"]),
    ],
)
def test_a_format_comes_once_by_its_button_or_its_words(
    new_world: NewWorld, monkeypatch: pytest.MonkeyPatch, do: str, words: str, names: list[str]
) -> None:
    monkeypatch.setattr("core.chromium.shutil.which", lambda _: None)
    desk = Desk(new_world(), cell(TOTALS, "Totals"), *[finish(TABLE)] * 4)
    menu = desk.report()["blocks"][-1]["elements"][-1]
    assert [option["text"]["text"] for option in menu["options"]][1:] == ["Slides", "PDF", "Excel", "CSV"]
    assert desk.press(do, user=BEN) == "taken"
    desk.world.settle(desk.key)
    assert posted(desk) == names
    desk.world.say(words, thread=desk.key)
    desk.world.settle(desk.key)
    assert posted(desk) == names
    assert "the report has not changed since" in desk.world.text(desk.key)


def test_a_csv_that_is_not_the_whole_table_says_so(new_world: NewWorld) -> None:
    code = "import pandas as pd\npd.DataFrame({'n': range(10_000)})"
    desk = Desk(new_world(), cell(code, "Rows"), *[finish("They are counted.")] * 4)
    desk.press("csv")
    desk.world.settle(desk.key)
    assert posted(desk) == ["rows.csv"]
    assert "rows.csv is not the whole table. Shown: the first" in desk.world.text(desk.key)


def test_a_report_without_a_table_says_what_to_do_instead(desk: Desk) -> None:
    desk.world.say("as excel", thread=desk.key)
    desk.world.settle(desk.key)
    assert posted(desk) == []
    assert "The last report has no table" in desk.world.text(desk.key)


def test_why_there_is_no_file_is_told_in_the_language_of_the_word(desk: Desk) -> None:
    for word in ("als Excel", "herunterladen", "herunterladen"):
        desk.world.say(word, thread=desk.key)
        desk.world.settle(desk.key)
    assert "The last report has no table" not in desk.world.text(desk.key)
    assert "Der letzte Bericht" in desk.world.text(desk.key)
    assert "Das analysis.zip oben enthält alles bis zum letzten Bericht" in desk.world.text(desk.key)


def test_an_answer_that_only_names_the_words_is_not_the_last_report(new_world: NewWorld) -> None:
    desk = Desk(new_world(), cell(TOTALS, "Totals"), finish(TABLE), finish("Write below: “as csv”."))
    desk.world.say("can I have it as a file for the board?", thread=desk.key)
    desk.world.settle(desk.key)
    desk.world.say("as csv", thread=desk.key)
    desk.world.settle(desk.key)
    assert posted(desk) == ["answer.csv"]


def test_a_button_means_its_own_report_and_words_the_last_one(new_world: NewWorld) -> None:
    desk = Desk(new_world(), cell(TOTALS, "Totals"), finish(TABLE), finish(TABLE.replace("Region", "Shop")))
    desk.world.say("and by shop?", thread=desk.key)
    desk.world.settle(desk.key)
    desk.press("csv")
    desk.world.settle(desk.key)
    desk.world.say("as csv", thread=desk.key)
    desk.world.settle(desk.key)
    files = [file for message in desk.world.messages(desk.key) for file in message.get("files") or ()]
    heads = [desk.world.slack.content(file["id"]).decode("utf-8-sig").splitlines()[0] for file in files]
    assert [head for head in heads if "Units" in head and "," in head] == ["Region,Units", "Shop,Units"]


def test_the_answer_is_the_last_message_and_its_method_is_behind_a_button(new_world: NewWorld) -> None:
    long = f"{TABLE}\n\n## Method\n\nCounted by hand.\n\n## Limits\n\nOne year only.\n"
    desk = Desk(new_world(), cell(TOTALS, "Totals"), *[finish(long)] * 4)
    last = desk.world.messages(desk.key, ours=True)[-1]
    assert last["ts"] == desk.report()["ts"]
    assert "Counted by hand" not in desk.world.text(desk.key)
    assert "One year only" not in desk.world.text(desk.key)
    assert desk.press("method") == "shown"
    assert "Counted by hand." in desk.opened[0]
    assert "One year only." in desk.opened[0]


def test_an_error_that_was_repaired_is_a_repair_on_the_card(new_world: NewWorld) -> None:
    desk = Desk(new_world(), cell("1 / 0", "Totals"), cell(TOTALS, "Totals"), *[finish(ANSWER)] * 4)
    card = desk.world.text(desk.key)
    assert "Totals (1 repair)" in card
    assert "ZeroDivisionError" not in card
    assert "2 cells, 1 repair" in card


def test_make_this_a_program_posts_it_by_its_button(desk: Desk) -> None:
    before = len(desk.world.files(desk.key))
    assert desk.press("program") == "taken"
    desk.world.settle(desk.key)
    assert desk.world.files(desk.key)[before:] == ["how-much.zip"]
    assert "python main.py" in desk.world.text(desk.key)
