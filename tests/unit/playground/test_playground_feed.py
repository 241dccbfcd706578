"""Live notices: nothing is missed between the page and its feed, and a broken feed goes on where it was."""

from __future__ import annotations

import asyncio
import json

from playground.feed import REMEMBERED, Feed


def kinds(feed: Feed, after: int, count: int) -> list[str]:
    async def read() -> list[str]:
        stream = feed.stream(after)
        lines = [await anext(stream) for _ in range(count + 1)][1:]
        await stream.aclose()  # type: ignore[attr-defined]
        return [json.loads(each.split("data: ")[1])["kind"] for each in lines]

    return asyncio.run(read())


def test_what_happened_after_the_page_was_drawn_is_told() -> None:
    feed = Feed()
    feed.tell("before")
    seen = feed.last
    feed.tell("one")
    feed.tell("two")
    assert kinds(feed, seen, 2) == ["one", "two"]


def test_a_page_that_missed_too_much_is_told_to_load_anew() -> None:
    feed = Feed()
    for _ in range(REMEMBERED + 5):
        feed.tell("message")
    assert kinds(feed, 2, 1) == ["stale"]


def test_a_page_of_an_earlier_life_is_told_to_load_anew() -> None:
    assert kinds(Feed(), 7, 1) == ["stale"]


def test_a_closed_feed_ends() -> None:
    feed = Feed()

    async def read() -> list[str]:
        feed.close()
        return [each async for each in feed.stream(0)]

    assert asyncio.run(read()) == ["retry: 1000\n\n"]
