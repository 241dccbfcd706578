"""Workspaces that have installed the app, and states of installations on their way.

The Store never sees a token: `secret` is what `core/installations/cipher.py` made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, and_, delete, insert, or_, select, update

from core.store import tables as t
from core.store.part import CLOCKS_DIFFER, Part, now, storable, writes


@dataclass(frozen=True, slots=True)
class Installed:
    """One installation. `team` is "" for one of a whole organisation, `enterprise` is "" outside Enterprise Grid."""

    enterprise: str
    team: str
    secret: str = field(repr=False)
    installed_at: datetime
    expires_at: datetime | None = None
    """When the token ends; None: it does not."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Names and ids that are no secret: `team_name`, `bot_user`, `scopes` …"""


class Installations(Part):
    """Tables `installations`, `installation_teams` and `oauth_states`."""

    @writes
    def save_installation(self, installed: Installed) -> None:
        """Keep an installation in place of an earlier one of the same workspace, or the same organisation."""
        values = {
            "secret": installed.secret,
            "about": storable(dict(installed.about)),
            "expires_at": installed.expires_at,
            "installed_at": installed.installed_at,
            "refreshing_until": None,
        }
        ids = {"enterprise": installed.enterprise, "team": installed.team}
        query = self._insert(t.installations).values(**ids, **values)
        keys = list(t.installations.primary_key)
        with self._writing() as db:
            if installed.team:  # a workspace that came into an organisation, or left one
                c = t.installations.c
                db.execute(delete(t.installations).where(c.team == installed.team, c.enterprise != ids["enterprise"]))
            db.execute(query.on_conflict_do_update(index_elements=keys, set_=values))

    def installation(self, enterprise: str, team: str) -> Installed | None:
        """The installation of exactly this workspace or, with "" as team, of this organisation."""
        with self._reading() as db:
            row = db.execute(_ALL.where(_is(enterprise, team))).first()
        return _installed(row) if row is not None else None

    def installation_for(self, team: str) -> Installed | None:
        """The installation that serves a workspace: its own, else that of the organisation to which it is known to
        belong.

        Its own installation counts in any organisation, because Slack's ids of workspaces are unique.
        """
        of = t.installation_teams
        around = select(of.c.enterprise).where(of.c.team == team).scalar_subquery()
        with self._reading() as db:
            row = db.execute(_ALL.where(_C.team == team)).first() if team else None
            if row is None and team:
                row = db.execute(_ALL.where(_is(around, ""))).first()
        return _installed(row) if row is not None else None

    def installations(self) -> list[Installed]:
        """All installations, ordered by their ids."""
        c = t.installations.c
        with self._reading() as db:
            return [_installed(row) for row in db.execute(_ALL.order_by(c.enterprise, c.team))]

    @writes
    def note_org_team(self, team: str, enterprise: str) -> None:
        """Note that the installation of an organisation serves this workspace of it."""
        of = t.installation_teams
        query = self._insert(of).values(team=team, enterprise=enterprise)
        query = query.on_conflict_do_update(index_elements=[of.c.team], set_={"enterprise": enterprise})
        with self._writing() as db:
            db.execute(query)

    @writes
    def forget_installation(self, enterprise: str, team: str, at: datetime) -> list[str]:
        """Delete an installation that is not newer than `at`; returns the workspaces that have none any more.

        With "" as team, the installation of an organisation is deleted. If a workspace only left an organisation, that
        organisation's installation does not serve it any more.
        """
        c, of = t.installations.c, t.installation_teams.c
        mine = (c.team == team) if team else _is(enterprise, "")
        served = (of.team == team) if team else (of.enterprise == enterprise)
        with self._writing() as db:
            if db.execute(select(c.team).where(mine, c.installed_at > at)).first() is not None:
                return []  # it was installed again meanwhile
            gone = db.execute(delete(t.installations).where(mine)).rowcount
            left = set(db.execute(delete(t.installation_teams).where(served).returning(of.team)).scalars())
            own = set(db.execute(select(c.team).where(c.team.in_(left))).scalars())
        return sorted({*left, *([team] if team and gone else [])} - own)

    @writes
    def claim_refresh(self, enterprise: str, team: str, until: datetime) -> bool:
        """Whether the caller may exchange the token now; nobody else may until then. A refresh token counts once.

        A claim that lasts much longer than this one was made before the clock was set back, and does not count.
        """
        c = t.installations.c
        of_another_clock = c.refreshing_until > until + CLOCKS_DIFFER
        free = or_(c.refreshing_until.is_(None), c.refreshing_until < now(), of_another_clock)
        query = update(t.installations).where(_is(enterprise, team), free).values(refreshing_until=until)
        with self._writing() as db:
            return db.execute(query).rowcount == 1

    @writes
    def replace_secret(self, installed: Installed, secret: str, expires_at: datetime | None) -> bool:
        """Put another secret in the place of this one; False when it was changed or deleted meanwhile."""
        was = (_is(installed.enterprise, installed.team), t.installations.c.secret == installed.secret)
        values = {"secret": secret, "expires_at": expires_at, "refreshing_until": None}
        with self._writing() as db:
            return db.execute(update(t.installations).where(*was).values(**values)).rowcount == 1

    @writes
    def issue_state(self, state: str, until: datetime) -> None:
        """Keep the hash of a state that counts once, until then. Those that have expired are deleted."""
        c = t.oauth_states.c
        with self._writing() as db:
            db.execute(delete(t.oauth_states).where(c.expires_at < now()))
            db.execute(insert(t.oauth_states).values(state=state, expires_at=until))

    @writes
    def use_state(self, state: str) -> bool:
        """Whether the state with this hash counts. It counts only once."""
        c = t.oauth_states.c
        query = delete(t.oauth_states).where(c.state == state).returning(c.expires_at)
        with self._writing() as db:
            until = db.execute(query).scalar()
        return until is not None and until >= now()


_C = t.installations.c
_ALL = select(_C.enterprise, _C.team, _C.secret, _C.installed_at, _C.expires_at, _C.about)


def _is(enterprise: str | ScalarSelect[str], team: str) -> ColumnElement[bool]:
    return and_(_C.enterprise == enterprise, _C.team == team)


def _installed(row: Any) -> Installed:
    return Installed(**row._mapping)
