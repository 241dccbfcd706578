"""What was used last is kept, within the bound on all weights."""

from __future__ import annotations

from core.weighed_cache import WeighedCache


def test_what_was_used_last_is_kept_within_the_bound() -> None:
    cache, made = WeighedCache[str](10, len), list[str]()

    def of(key: str, value: str = "four") -> str:
        return cache.of(key, lambda: made.append(key) or value)  # type: ignore[func-returns-value]

    assert [of("a"), of("b"), of("a"), of("c"), of("a")] == ["four"] * 5
    assert made == ["a", "b", "c"]
    of("b")
    assert made[3:] == ["b"]


def test_a_value_above_the_bound_is_given_and_not_kept() -> None:
    cache = WeighedCache[str](3, len)
    assert [cache.of("a", lambda: "large"), cache.of("a", lambda: "new")] == ["large", "new"]


def test_an_empty_value_is_kept_too() -> None:
    cache = WeighedCache[str](3, len)
    assert [cache.of("a", lambda: ""), cache.of("a", lambda: "new")] == ["", ""]
