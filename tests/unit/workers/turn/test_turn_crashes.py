"""A worker may die between any two of its effects: the thread reads the same, nothing runs or stands there twice.

The effects are counted while a scenario runs whole: each transaction that writes to the Store, and each call to Slack
or to the session host that leaves anything there. Nobody keeps a list of them. Then the scenario is played once for
each effect, and its worker dies right there. Dying before an effect is dying after the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import pytest
from turn_world import Death, Killed, Meanwhile, World, cell, failure, finish, question

from core.steps import dump_step
from core.values import ThreadKey
from workers.models.base import Model
from workers.models.scripted import ScriptedModel
from workers.service.backoff import MOST_CRASHES, Backoff

# The card is drawn in a thread of its own, which dies with its worker.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

Act = Callable[[World, ThreadKey], object]
COUNT = "runs = globals().get('runs', 0) + 1\nprint('ran', runs)"
LOOP = "kept = 1\nwhile True:\n    kept += 0"
REPORT = finish("It is **7**.")
GIVE_UP = failure("unavailable")
"""A short end, where the report is not what matters."""


@dataclass(frozen=True)
class Scenario:
    """What people say, one after the other, each once the thread rests; and the model's replies for each turn."""

    turns: Sequence[Sequence[Any]]
    acts: Sequence[Act] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    meanwhile: tuple[int, Act] | None = None
    """What happens once while the model is asked for the time of this number: a death may change what came first."""
    safe: int = 0
    """Up to this act, counted from the question, nobody dies: another scenario has that."""
    opening: int = 0
    """So many of the first effects are those of every turn: another scenario has them."""

    def model(self, world: World, key: ThreadKey) -> Model:
        script = ScriptedModel(turns=self.turns)
        if self.meanwhile is None:
            return script
        number, act = self.meanwhile
        return Meanwhile(script, {number: lambda: act(world, key)})


def say(words: str) -> Act:
    return lambda world, key: world.say(words, thread=key)


def press(option: str) -> Act:
    return lambda world, key: world.press(key, option)


def stop_the_next_cell(world: World, key: ThreadKey) -> None:
    world.sessions.fault("run", then=lambda: world.say("stop", thread=key))


SCENARIOS = {
    "a question with a file": Scenario(
        turns=[[cell("open('a.csv').read()\n" + COUNT), GIVE_UP]],
        files=(("a.csv", b"x\n1\n"), ("broken.xlsx", b"no workbook")),
    ),
    "a report with files": Scenario(turns=[[cell("open('b.csv', 'w').write('1')"), REPORT]], opening=7),
    "a question back": Scenario(
        turns=[[cell(COUNT), question("Gross or net?", "gross", "net"), cell("print(runs)"), GIVE_UP]],
        acts=[press("net")],
        opening=7,
    ),
    "an answer in words": Scenario(turns=[[question("Which year?"), GIVE_UP]], acts=[say("2023, please")], safe=1),
    "words while it runs": Scenario(turns=[[cell(COUNT), GIVE_UP]], meanwhile=(1, say("only the north, please"))),
    "a stop in a cell": Scenario(
        turns=[[cell(COUNT), cell(LOOP), cell("print(runs, kept)"), GIVE_UP]],
        meanwhile=(2, stop_the_next_cell),
        acts=[say("continue")],
        opening=7,
    ),
    "a stop while a question waits": Scenario(
        turns=[[question("Gross or net?", "gross", "net"), GIVE_UP]],
        acts=[say("stop"), say("continue")],
        safe=1,
    ),
    "an undo at rest": Scenario(
        turns=[[cell(COUNT), cell("runs += 1", "Add"), GIVE_UP]],
        acts=[say("undo")],
        safe=1,
    ),
    "an undo while it runs": Scenario(
        turns=[[cell(COUNT), cell("runs += 1", "Add"), cell("print(runs)"), GIVE_UP]],
        meanwhile=(3, say("undo")),
        opening=7,
    ),
    "a reset": Scenario(
        turns=[[cell(COUNT), GIVE_UP]],
        acts=[say("reset"), press("Yes, reset")],
        safe=1,
    ),
    "a reset that is declined": Scenario(turns=[[cell(COUNT), GIVE_UP]], acts=[say("reset"), say("no")], safe=2),
}


@dataclass(frozen=True)
class Seen:
    """What must not depend on a death."""

    thread: list[tuple[str, list[str], list[str]]]
    """Words, files and reactions of each message."""
    statuses: list[str]
    steps: list[str]
    cells: list[tuple[str, str, list[str]]]
    variables: list[str]

    @property
    def without_signs(self) -> object:
        """The same without reactions and without what a question looks like once it is answered."""
        thread = [(_question(text), files) for text, files, _ in self.thread]
        return self.statuses, self.steps, self.cells, self.variables, thread

    @property
    def in_any_order(self) -> object:
        """What remains when people happen to speak while a worker is dead: the next one hears them earlier.

        A cell that they stop then is ended, but nobody is left to note how far it came.
        """
        said = sorted(re.sub(r"\d+ cells?", "", text.splitlines()[0]) for text, _, _ in self.thread if text)
        ended_well = [cell for cell in self.cells if cell[0] == "ok"]
        return self.statuses, set(self.steps), ended_well, self.variables, said


def _question(text: str) -> str:
    return text.splitlines()[0] if "I wait for you, and nothing is lost" in text or " answered: " in text else text


def played(scenario: Scenario, world: World, death: Death) -> Seen:
    """Play it in a thread of its own."""
    world.sessions.heal()
    key = world.say("how much was sold?", files=dict(scenario.files))
    world.model = scenario.model(world, key)
    for number, act in enumerate([lambda *_: None, *scenario.acts]):
        act(world, key)
        world.settle(key, death if number >= scenario.safe and not death.dead else None)
    steps = [dump_step(step) for turn in world.turns(key) for step in world.store.steps(turn.id)]
    return Seen(
        thread=world.seen(key),
        statuses=world.statuses(key),
        steps=[step["kind"] for step in steps],
        cells=[
            (step["status"], step["stdout"], [file["name"] for file in step["files"]])
            for step in steps
            if step["kind"] == "cell"
        ],
        variables=sorted(variable.name for variable in world.sessions.vars(key.id)),
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_worker_may_die_between_any_two_effects(world: World, name: str) -> None:
    scenario, whole = SCENARIOS[name], Death()
    expected = played(scenario, world, whole)
    assert {"write", "chat.postMessage"} <= set(whole.effects)
    unsigned: list[str] = []
    for at in count(1 + scenario.opening):
        death = Death(at)
        found = played(scenario, world, death)
        if not death.dead:
            break
        place = f"died after effect {at}: {' '.join(death.effects)}"
        if scenario.meanwhile is not None:
            assert found.in_any_order == expected.in_any_order, place
            continue
        assert found.without_signs == expected.without_signs, place
        if found.thread != expected.thread:
            unsigned.append(f"{at} ({death.effects[-1]})")
    assert at >= len(whole.effects) - 5  # how often the card is drawn depends on the moment
    assert len(world.sessions.ran) == len(set(world.sessions.ran))
    assert not unsigned, "a sign or an answered question is left as it was"


@dataclass
class Theft(Death):
    """Another worker takes the thread right after effect number `at`; `later` is what the first one still did."""

    steal: Callable[[], None] = lambda: None
    later: list[str] = field(default_factory=list)

    def watch(self, when: str, effect: str) -> None:
        if when == "after" and self.dead:
            self.later.append(effect)
        elif when == "after":
            self.effects.append(effect)
            if len(self.effects) == self.at:
                self.dead = True
                self.steal()


LEASED = {"write", "run", "chat.postMessage", "reactions.add", "reactions.remove"}
"""What only the worker that holds the lease does. Redraws and the sharing of files are checked a moment earlier."""
SIGNS = {"reactions.add", "reactions.remove"}


def unchecked(theft: Theft) -> list[str]:
    """What a worker did after the theft without a check since.

    A write checks the lease for the one call that follows it at once. The signs of a turn's end are checked together.
    """
    later = [effect for effect in theft.later if effect in LEASED]
    last = theft.effects[-1]
    if last in SIGNS or (last == "write" and later and later[0] in SIGNS):
        return [effect for effect in later if effect not in SIGNS]
    return later[1:] if last == "write" and later and later[0] in ("run", "chat.postMessage") else later


def test_a_worker_that_loses_its_lease_anywhere_leaves_nothing_more_and_the_next_goes_on(world: World) -> None:
    scenario, whole = SCENARIOS["a report with files"], Death()
    expected = played(scenario, world, whole)
    for at in range(3, len(whole.effects)):
        key = world.say("how much was sold?")
        theft = Theft(at, steal=partial(world.lose_lease, key))
        world.run(key, death=theft)
        assert not unchecked(theft), f"{theft.later} after {theft.effects}"
        world.settle(key)
        assert world.statuses(key) == expected.statuses
        assert [text for text, _, _ in world.seen(key)] == [text for text, _, _ in expected.thread]


def _die_often(world: World, key: ThreadKey, *, at: int, times: int) -> None:
    for _ in range(times):
        with pytest.raises(Killed):
            world.run(key, death=Death(at))
        world.sessions.halted = False


def _effects_until_posted(world: World, words: str) -> int:
    """The number of the effect by which a whole turn of `REPORT` posts these words."""
    whole = Death()
    key = world.say("how much was sold?")
    world.model = ScriptedModel(turns=[[cell(COUNT), REPORT]])
    posted: list[int] = []
    watch = whole.watch

    def look(when: str, effect: str) -> None:
        watch(when, effect)
        if effect == "chat.postMessage" and when == "after" and words in world.text(key):
            posted.append(len(whole.effects))

    whole.watch = look  # type: ignore[method-assign]
    world.run(key, death=whole)
    return posted[0]


def test_workers_that_die_after_the_report_stands_never_take_it_back(world: World) -> None:
    at = _effects_until_posted(world, "It is **7**.")
    key = world.say("how much was sold?")
    world.model = ScriptedModel(turns=[[cell(COUNT), REPORT]])
    _die_often(world, key, at=at + 1, times=1)  # the outbox knows that the report was sent
    assert "It is **7**." in world.text(key)
    _die_often(world, key, at=2, times=MOST_CRASHES)  # the first effect takes the lease
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert world.kinds(key)[-1] == "finished"
    assert "It is in the log" not in world.text(key)


def test_a_second_end_that_workers_died_before_is_told(world: World) -> None:
    world.model = ScriptedModel(turns=[[cell(COUNT), GIVE_UP, GIVE_UP]])
    key = world.say("how much was sold?")
    world.settle(key)
    world.slack.fault("chat.postMessage", "drop_call", times=99)
    world.say("continue", thread=key)
    world.run(key)
    assert world.kinds(key)[-1] == "gave_up"
    for _ in range(MOST_CRASHES):
        Backoff(world._redis).begin(world.store.thread_state(key.id).progress)
    world.slack.heal()
    world.settle(key)
    assert world.kinds(key).count("gave_up") == 3
    assert "It is in the log" in world.text(key)


def test_a_turn_that_sends_a_message_with_each_try_is_not_given_up(world: World) -> None:
    key = world.say("how much was sold?")
    world.model = ScriptedModel(turns=[[cell(COUNT), REPORT]])
    _die_often(world, key, at=8, times=1)
    for number in range(MOST_CRASHES + 1):
        _die_often(world, key, at=2, times=1)
        world.store.outbox_begin(None, f"part {number}", "chat.postMessage", {}, thread_id=key.id)
        world.store.outbox_done(None, f"part {number}", "1.0", {})
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "It is **7**." in world.text(key)


def test_a_fault_behind_the_report_does_not_take_it_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("the session host answers nonsense")

    monkeypatch.setattr("workers.turn.closing.export", fail)
    world.model = ScriptedModel(turns=[[cell(COUNT), REPORT]])
    key = world.say("how much was sold?")
    world.settle(key)
    assert "It is **7**." in world.text(key)
    assert "It is in the log" not in world.text(key)
    assert world.statuses(key) == ["done"]
