"""What the code of a release asks of the database, word for word, and what it is answered.

    python tests/releases/statements.py URL VERSION > tests/releases/VERSION/statements_DIALECT.json

keeps it, run with the code of the release and an empty database. `replayed` asks the same of a later schema: when the
answers are the same, that release's code works on it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, make_url
from sqlalchemy.exc import DBAPIError

Json = dict[str, Any]
FOLDER = Path(__file__).parent
Asked = list[Any]
"""A statement and its arguments."""


def statements_of(release: str, url: str) -> list[Asked]:
    """What a release asks of this kind of database."""
    dialect = make_url(url).get_backend_name()
    kept: list[Asked] = json.loads((FOLDER / release / f"statements_{dialect}.json").read_text(encoding="utf-8"))
    return kept


def replayed(url: str, asked: Iterable[Asked]) -> list[Json]:
    """Ask one after the other, each in a transaction of its own: statements, arguments and answers."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as db:
        found = [{"asked": one, "answer": _answer(db, *one)} for one in asked]
    engine.dispose()
    return found


def plain(arguments: Any) -> Any:
    """Arguments as JSON."""
    return json.loads(json.dumps(arguments, default=_plain))


def _plain(value: Any) -> Any:
    return {"time": value.isoformat()} if isinstance(value, datetime) else json.dumps(value.obj)  # psycopg's Json


def _answer(db: Connection, statement: str, arguments: Any) -> list[list[str]] | str:
    given = _timed(arguments)
    try:
        result = db.exec_driver_sql(statement, tuple(given) if isinstance(given, list) else given)
        return sorted([str(value) for value in row] for row in result) if result.returns_rows else []
    except DBAPIError as error:
        return type(error).__name__


def _timed(arguments: Any) -> Any:
    if isinstance(arguments, dict):
        if set(arguments) == {"time"}:
            return datetime.fromisoformat(arguments["time"])
        return {name: _timed(value) for name, value in arguments.items()}
    return [_timed(value) for value in arguments] if isinstance(arguments, list) else arguments


def main(url: str, version: str) -> None:
    """Call everything on a database with the threads of the release; print what was asked, and answered anew."""
    from releases.stored import fill, kept
    from store_calls import call_everything, prepare, recorded

    from core.store import Store
    from core.store.history import History

    fill(url, kept(version))
    store, history = Store(url), History(url)
    with recorded() as statements:
        prepare(store)
        call_everything(store, store)
        call_everything(store, history)
    store.close()
    history.close()
    lines = [json.dumps([statement, plain(arguments)]) for statement, arguments in statements.sequence]
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
