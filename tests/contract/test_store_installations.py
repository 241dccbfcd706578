"""What the Store promises of installations, on SQLite and on Postgres alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from core.store import Store
from core.store.installations import Installed

AT = datetime(2026, 1, 2, tzinfo=UTC)
LATER = AT + timedelta(hours=1)
SOON, PAST = datetime.now(UTC) + timedelta(hours=1), datetime.now(UTC) - timedelta(seconds=1)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = Store(store_url)
    opened.migrate()
    yield opened
    opened.close()


def of(team: str, enterprise: str = "", secret: str = "sealed", **more: object) -> Installed:
    given = Installed(enterprise, team, secret, AT, about={"team_name": team})
    return replace(given, **more)  # type: ignore[arg-type]


def test_an_installation_is_kept_whole(store: Store) -> None:
    given = of("T1", "E1", expires_at=LATER)
    store.save_installation(given)
    assert store.installation("E1", "T1") == given
    assert store.installation_for("T1") == given
    assert store.installations() == [given]


def test_installing_again_takes_the_place_of_the_first(store: Store) -> None:
    store.save_installation(of("T1"))
    store.save_installation(of("T1", secret="newer"))
    assert [each.secret for each in store.installations()] == ["newer"]


def test_a_workspace_that_moved_into_an_organisation_has_one_installation(store: Store) -> None:
    store.save_installation(of("T1"))
    store.save_installation(of("T1", "E1", "newer"))
    assert [(each.enterprise, each.secret) for each in store.installations()] == [("E1", "newer")]


def test_ids_of_workspaces_and_organisations_are_kept_apart(store: Store) -> None:
    store.save_installation(of("T1"))
    store.save_installation(of("T2", "E1"))
    store.save_installation(of("", "E1", "of the organisation"))
    assert store.installation("", "E1") is None
    assert store.installation("E1", "T1") is None
    assert store.installation_for("E1") is None
    assert store.installation_for("") is None
    assert store.installation_for("T3") is None, "nobody said that it is in E1"


def test_an_organisation_serves_its_workspaces_but_their_own_installation_wins(store: Store) -> None:
    store.save_installation(of("", "E1", "of E1"))
    store.save_installation(of("", "E2", "of E2"))
    store.note_org_team("T1", "E1")
    store.note_org_team("T1", "E1")
    found = store.installation_for("T1")
    assert found is not None
    assert (found.enterprise, found.team, found.secret) == ("E1", "", "of E1")
    store.save_installation(of("T1", "E1", "its own"))
    assert store.installation_for("T1") == store.installation("E1", "T1")


def test_forgetting_a_workspace_leaves_the_others(store: Store) -> None:
    store.save_installation(of("T1", "E1"))
    store.save_installation(of("T2", "E1"))
    assert store.forget_installation("E1", "T1", LATER) == ["T1"]
    assert store.forget_installation("E1", "T1", LATER) == []
    assert [each.team for each in store.installations()] == ["T2"]


def test_forgetting_an_organisation_takes_its_workspaces_along_but_not_their_own_installations(store: Store) -> None:
    store.save_installation(of("", "E1"))
    store.save_installation(of("T2", "E1", "its own"))
    for team in ("T1", "T2", "T3"):
        store.note_org_team(team, "E1")
    assert store.forget_installation("E1", "", LATER) == ["T1", "T3"]
    assert store.installation_for("T1") is None
    assert store.installation_for("T2") is not None


def test_a_late_word_of_an_uninstallation_does_not_undo_a_newer_installation(store: Store) -> None:
    store.save_installation(of("T1", installed_at=LATER))
    assert store.forget_installation("", "T1", AT) == []
    assert store.installation_for("T1") is not None


def test_one_of_two_may_exchange_the_token(store: Store) -> None:
    store.save_installation(of("T1"))
    assert store.claim_refresh("", "T1", SOON)
    assert not store.claim_refresh("", "T1", SOON)
    assert not store.claim_refresh("", "T2", SOON)


def test_a_claim_ends_by_itself_and_with_the_new_token(store: Store) -> None:
    store.save_installation(of("T1"))
    assert store.claim_refresh("", "T1", PAST)
    assert store.claim_refresh("", "T1", SOON), "whoever claimed it first has died"
    assert store.replace_secret(of("T1"), "newer", LATER)
    found = store.installation_for("T1")
    assert found is not None
    assert (found.secret, found.expires_at) == ("newer", LATER)
    assert store.claim_refresh("", "T1", SOON)


def test_a_claim_of_a_clock_that_was_set_back_does_not_count(store: Store) -> None:
    store.save_installation(of("T1"))
    assert store.claim_refresh("", "T1", SOON + timedelta(days=1))
    assert store.claim_refresh("", "T1", SOON)
    assert not store.claim_refresh("", "T1", SOON)


def test_a_secret_is_replaced_only_where_it_was_read(store: Store) -> None:
    store.save_installation(of("T1", secret="newer"))
    assert not store.replace_secret(of("T1"), "from an older one", None)
    assert not store.replace_secret(of("T2"), "of nobody", None)
    assert [each.secret for each in store.installations()] == ["newer"]


def test_a_state_counts_once_and_until_its_moment(store: Store) -> None:
    store.issue_state("a" * 64, SOON)
    assert not store.use_state("b" * 64)
    assert store.use_state("a" * 64)
    assert not store.use_state("a" * 64)
    store.issue_state("c" * 64, PAST)
    assert not store.use_state("c" * 64)


def test_states_that_have_expired_are_deleted(store: Store, store_url: str) -> None:
    for number in range(3):
        store.issue_state(str(number) * 64, PAST)
    store.issue_state("9" * 64, SOON)
    with store._reading() as db:
        assert db.execute(text("SELECT count(*) FROM oauth_states")).scalar() == 1
