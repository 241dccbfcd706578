"""MySQL and MariaDB. The walls: a READ ONLY transaction, EXPLAIN first, one statement per message, no local files."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.converters import convert_date, convert_datetime, convert_timedelta
from pymysql.cursors import DictCursor, SSCursor

from workers.sources.catalogue import Catalogue
from workers.sources.drivers import mysql_catalogue, rows
from workers.sources.drivers.base import Stop, capped, too_slow
from workers.sources.drivers.mysql_rows import converted, numbers_of_bits, texts_of
from workers.sources.drivers.plans import mysql_rows
from workers.sources.errors import LimitReached, Misconfigured, SourceAway, SourceError, StatementFailed
from workers.sources.values import Access, ColumnInfo, Limits, Result, Source, TableName, Visible

CONNECT_S = 10
READING = {"SELECT", "USAGE", "SHOW VIEW", "SHOW DATABASES"}
"""Privileges of a login that can only read."""

SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")
OPTIONS = {"ssl_ca", "ssl_cert", "ssl_key", "unix_socket"}
SQL_MODE = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO"
"""The guard reads strings and names as this mode does; the server's own mode might read them otherwise."""

LONGEST_GROUP = 64 * 1024 * 1024
"""Bytes of what GROUP_CONCAT puts together. MySQL itself would cut it after 1,024, with a warning alone."""
CUT = {1260, 1301}
"""The numbers of the warnings that a function's value was cut, or left out, because of its size."""

FLOAT_DIGITS = 6
NO_SCALE = 31
"""What the server tells of a number without a fixed number of decimals."""
BINARY = 63
_WHOLE = (FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.YEAR)
TYPES: dict[int, pa.DataType] = {
    **dict.fromkeys(_WHOLE, pa.int64()),
    FIELD_TYPE.FLOAT: pa.float64(),
    FIELD_TYPE.DOUBLE: pa.float64(),
    FIELD_TYPE.DATE: pa.date32(),
    FIELD_TYPE.NEWDATE: pa.date32(),
    FIELD_TYPE.TIME: pa.duration("us"),
    FIELD_TYPE.DATETIME: pa.timestamp("us"),
    FIELD_TYPE.TIMESTAMP: pa.timestamp("us"),
    FIELD_TYPE.BIT: pa.uint64(),
    FIELD_TYPE.GEOMETRY: pa.binary(),
    FIELD_TYPE.JSON: pa.string(),
}
_STRINGS = (
    *(FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR, FIELD_TYPE.BLOB),
    *(FIELD_TYPE.TINY_BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB),
)
TIME_OVER = {1969, 3024}
"""MariaDB's and MySQL's numbers for a statement that ran out of time."""

INTERRUPTED = 1317
_NAME = r"(?:`(?:[^`]|``)*`|'(?:[^']|'')*'|[^\s,@`']+)"
_ROLE = rf"{_NAME}(?:@{_NAME})?"
LOST = {2006, 2013, 2055, 1927, 1053, 4031, 0}
"""The numbers of a connection that is gone: 1053 as the server shuts down, 4031 (MySQL) after its idle time."""
UNKNOWN_COLUMN = 1054
DENIED = {1142, 1143}
UNKNOWN_FUNCTION = {1305, 1370}
"""1370 is of a login that may run no functions of users: the server looks for one there."""
NO_LOOK_INTO_VIEW = 1345
"""EXPLAIN of a SELECT from a view, by a login without SHOW VIEW."""


class MysqlDriver:
    """A connection of one login."""

    def __init__(self, source: Source) -> None:
        self._name = source.name
        self._role = source.settings.role
        self._stop: Stop | None = None
        self._address = _address(source)
        # A server that vanished without a word would otherwise be waited for without end.
        self._address |= {"read_timeout": source.settings.timeout_s + CONNECT_S, "write_timeout": CONNECT_S}
        self._begin_session()

    def access(self) -> Access:
        """The privileges of the login beyond reading."""
        with _errors(None, CONNECT_S):
            if database := self._address["database"]:
                self._connection.select_db(database)  # else the rights in it stay those of when it was selected
            grants = [str(row[0]) for row in self._ask("SHOW GRANTS")]
            # What a role may do is listed on its own.
            for role in [role for text in grants for role in _roles(text)]:
                grants += [str(row[0]) for row in self._ask(f"SHOW GRANTS FOR {role}")]
        writes = tuple(sentence for text in grants if (sentence := _beyond_reading(text)))
        return Access(writes, self._mend() if writes else "")

    def visible(self) -> Visible:
        """What the login can read, and the database of its URL."""
        with _errors(None, CONNECT_S):
            found = self._ask(
                "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN "
                "('information_schema', 'mysql', 'performance_schema', 'sys') ORDER BY 1, 2"
            )
            path = self._ask("SELECT database()")[0][0]
        return Visible(tuple(TableName(*row) for row in found), (path,) if path else ())

    def columns(self, table: TableName) -> tuple[ColumnInfo, ...]:
        """The columns with MySQL's types."""
        with _errors(None, CONNECT_S):
            found = self._ask(
                "SELECT column_name, column_type FROM information_schema.columns "
                "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
                (table.schema, table.name),
            )
        return tuple(ColumnInfo(name, str(kind)) for name, kind in found)

    def catalogue(self) -> Catalogue:
        """What `information_schema` tells, with `table_rows` as the estimate of rows."""
        visible = self.visible()
        with _errors(None, CONNECT_S):
            statements = (mysql_catalogue.TABLES, mysql_catalogue.COLUMNS, mysql_catalogue.KEYS)
            return mysql_catalogue.catalogue(visible, *(self._ask(each) for each in statements))

    def expected_rows(self, sql: str, limits: Limits) -> int | None:
        """What EXPLAIN says; None for a view that the login may not look into."""
        with Stop(limits.seconds, self._kill) as stop:
            self._stop = stop
            try:
                with _errors(stop, limits.seconds):
                    self._begin(limits)
                    plan = self._explained(sql)
            finally:
                self._leave(None)
                self._stop = None
        return mysql_rows(plan, sql) if plan else None

    @contextmanager
    def run(self, sql: str, limits: Limits) -> Iterator[Result]:
        """Run one statement in a read-only transaction; its rows are read as they come."""
        with Stop(limits.seconds, self._kill) as stop:
            self._stop = stop
            cursor: Any = None
            try:
                with _errors(stop, limits.seconds):
                    self._begin(limits)
                    self._explained(sql)
                    cursor = self._connection.cursor(SSCursor)
                    cursor.execute(sql)
                    schema = rows.named(*_columns(cursor))
                yield Result(schema, capped(_reading(cursor, schema, stop, limits.seconds), limits))
            finally:
                self._leave(cursor)
                self._stop = None

    def cancel(self) -> None:
        """End the statement at the server."""
        if (stop := self._stop) is not None:
            stop.cancel()

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(pymysql.Error):
            self._connection.close()

    def _connect(self) -> Any:
        try:
            return pymysql.connect(**self._address, connect_timeout=CONNECT_S, charset="utf8mb4", local_infile=False)
        except pymysql.Error as error:
            raise SourceAway(f"{self._name} cannot be reached: {_why(error)}.") from None
        except (ValueError, TypeError, OSError):
            raise Misconfigured(f"The URL of {self._name} has an option that cannot be used.") from None

    def _begin_session(self) -> None:
        """Connect, and have the server read statements as the guard does."""
        self._connection = self._connect()
        with _errors(None, CONNECT_S):
            self._version = str(self._ask("SELECT version()")[0][0])
            self._ask(f"SET SESSION sql_mode = '{SQL_MODE}', group_concat_max_len = {LONGEST_GROUP}")
            if self._role:
                self._ask(f"SET ROLE `{self._role.replace('`', '``')}`")

    def _ask(self, sql: str, values: tuple[str, ...] | None = None) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values)
            return list(cursor.fetchall())

    def _begin(self, limits: Limits) -> None:
        if "mariadb" in self._version.lower():
            self._ask(f"SET SESSION max_statement_time = {limits.seconds:f}")
        else:
            self._ask(f"SET SESSION max_execution_time = {int(limits.seconds * 1000)}")
        self._ask("START TRANSACTION READ ONLY")

    def _explained(self, sql: str) -> list[dict[str, Any]]:
        """The plan, with a line for each table; [] where the login may not look into a view.

        So the server's own parser says that this is a SELECT or a change of rows, which READ ONLY refuses. A change of
        the schema ends the transaction before it runs, so READ ONLY does not stop it; EXPLAIN takes none.
        """
        try:
            with self._connection.cursor(DictCursor) as cursor:
                cursor.execute(f"EXPLAIN {sql}")
                return list(cursor.fetchall())
        except pymysql.Error as error:
            if error.args[:1] != (NO_LOOK_INTO_VIEW,):
                raise
            return []

    def _kill(self) -> None:
        """From another connection: this one is busy."""
        with contextlib.suppress(SourceAway, pymysql.Error):
            other = self._connect()
            try:
                with other.cursor() as cursor:
                    cursor.execute(f"KILL QUERY {int(self._connection.thread_id())}")
            finally:
                other.close()

    def _leave(self, cursor: Any) -> None:
        """Give up rows that were not read, and roll back. A connection that is still busy is closed instead."""
        try:
            unread = cursor is not None and cursor._result is not None and cursor._result.unbuffered_active
            if unread:
                # pymysql would read the rest of the rows when it forgets these; the connection is gone by then.
                cursor._result.unbuffered_active = False
                cursor._result = None
                self._connection.close()
                self._begin_session()
                return
            if cursor is not None:
                cursor.close()
            self._connection.rollback()
        except (pymysql.Error, SourceError, OSError):
            with contextlib.suppress(pymysql.Error):
                self._connection.close()

    def _mend(self) -> str:
        database = str(self._address.get("database") or "…")
        quoted = "`" + database.replace("`", "``") + "`"
        return (
            "CREATE USER threadbook_reader IDENTIFIED BY '…';  -- can only read; put it into the source's URL\n"
            f"GRANT SELECT, SHOW VIEW ON {quoted}.* TO threadbook_reader;\n"
        )


def _address(source: Source) -> dict[str, Any]:
    """What pymysql connects with. Raises Misconfigured."""
    try:
        parts = urlsplit(source.url.get_secret_value())
        port = parts.port or 3306
    except ValueError:
        raise Misconfigured(f"The URL of {source.name} is no URL of MySQL.") from None
    options = dict(parse_qsl(parts.query))
    if unknown := sorted(set(options) - OPTIONS - {"charset"}):
        raise Misconfigured(f"The URL of {source.name} has options that are not known: {', '.join(unknown)}.")
    address: dict[str, Any] = {key: value for key, value in options.items() if key in OPTIONS}
    if "ssl_ca" in address:
        address["ssl_verify_identity"] = True
    return address | {
        "host": parts.hostname or "127.0.0.1",
        "port": port,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "database": unquote(parts.path.removeprefix("/")) or None,
    }


def _reading(cursor: Any, schema: pa.Schema, stop: Stop, seconds: float) -> Iterator[pa.RecordBatch]:
    result = cursor._result
    converters = [converter for _, converter in result.converters]
    result._read_row_from_packet = lambda packet: (packet.get_all_data(),)  # as they came, to be read by columns

    rounded = {at for at, field in enumerate(result.fields) if _is_rounded(field)}
    bits = {at for at, field in enumerate(result.fields) if field.type_code == FIELD_TYPE.BIT}

    def one_by_one(at: int) -> Callable[[Sequence[Any]], pa.Array]:
        return lambda values: rows.as_array([_value(value, converters[at]) for value in values], schema.field(at))

    with _errors(stop, seconds):
        while packets := _packets(cursor, stop):
            values = texts_of(packets, len(schema))
            for at in rounded:
                _require_all_digits(values[at], schema.field(at).name)
            made = [
                numbers_of_bits(each) if at in bits else converted(each, schema.field(at).type, one_by_one(at))
                for at, each in enumerate(values)
            ]
            yield pa.RecordBatch.from_arrays(made, schema=schema)
        stop.check()
        if result.warning_count:
            _require_whole(cursor.connection)


def _is_rounded(field: Any) -> bool:
    """Whether the server writes six digits of the values of this column: a FLOAT without a number of decimals."""
    return bool(field.type_code == FIELD_TYPE.FLOAT and field.scale >= NO_SCALE)


def _require_all_digits(values: pa.Array, name: str) -> None:
    """Raise StatementFailed for a value with so many digits that the server may have cut others off."""
    digits = pc.replace_substring_regex(values.cast(pa.string()), r"e.*|\D", "")
    if (pc.max(pc.utf8_length(pc.utf8_ltrim(digits, "0"))).as_py() or 0) >= FLOAT_DIGITS:
        raise StatementFailed(
            f"The column {name} is a FLOAT, of which the server writes {FLOAT_DIGITS} digits. "
            f"Write CAST({name} AS DOUBLE) in the query for all of them, or leave it out."
        )


def _require_whole(connection: Any) -> None:
    """Raise LimitReached when the server warns that it cut a value of the statement that was just read."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW WARNINGS")
        for _, number, text in cursor.fetchall():
            if number in CUT:
                raise LimitReached(
                    f"A value of the result is too large for the server: {text}. "
                    "Put fewer rows together, or read the rows and do it in Python."
                )


def _packets(cursor: Any, stop: Stop) -> list[bytes]:
    """Rows of about 4 MB."""
    packets: list[bytes] = []
    size = 0
    while size < rows.BATCH_BYTES and (found := cursor.fetchmany(rows.WIDE_ROWS)):
        stop.check()
        packets += [packet for (packet,) in found]
        size += sum(len(packet) for (packet,) in found)
    return packets


def _value(value: bytes | None, converter: Callable[[Any], Any] | None) -> Any:
    """As pymysql would give it. `0000-00-00` is no date: pymysql leaves it as text, and it becomes a null."""
    if value is None:
        return None
    made = converter(value.decode("utf-8", "replace")) if converter else value
    is_time = converter in (convert_date, convert_datetime, convert_timedelta)
    return None if is_time and isinstance(made, str) else made


def _columns(cursor: Any) -> tuple[list[str], list[pa.DataType]]:
    if cursor.description is None:
        raise StatementFailed("The statement gives no rows. A source takes a SELECT.")
    return [column[0] for column in cursor.description], [_arrow(field) for field in cursor._result.fields]


def _arrow(field: Any) -> pa.DataType:
    unsigned = bool(field.flags & 32)
    if field.type_code == FIELD_TYPE.LONGLONG:
        return pa.uint64() if unsigned else pa.int64()
    if field.type_code in (FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL):
        digits = field.length - (0 if unsigned else 1) - (1 if field.scale else 0)
        return pa.decimal128(38, field.scale) if digits <= 38 else pa.decimal256(76, field.scale)
    if field.type_code in _STRINGS:
        return pa.binary() if field.charsetnr == BINARY else pa.string()
    return TYPES.get(field.type_code, pa.string())


def _roles(grant: str) -> list[str]:
    """The roles that a line of SHOW GRANTS gives, as it writes them: it is one without ON."""
    found = re.match(rf"GRANT ({_ROLE}(?:, ?{_ROLE})*) TO ", grant)
    return re.findall(_ROLE, found[1]) if found else []


def _beyond_reading(grant: str) -> str:
    """A sentence about what a line of SHOW GRANTS gives beyond reading; empty when it gives nothing."""
    found = re.match(r"GRANT (.+?) ON (.+) TO ", grant)
    if not found:
        return ""
    # Rights on columns are written SELECT (`a`, `b`): the brackets hold names, not rights.
    rights = {right.strip() for right in re.sub(r"\([^)]*\)", "", found[1]).split(",")}
    more = sorted(rights - READING)
    if "WITH GRANT OPTION" in grant:
        more.append("GRANT OPTION")
    return f"it has {', '.join(more)} on {found[2].replace('`', '')}" if more else ""


@contextmanager
def _errors(stop: Stop | None, seconds: float) -> Iterator[None]:
    try:
        yield
    except pymysql.Error as error:
        if stop is not None:
            stop.check()
        number = error.args[0] if error.args and isinstance(error.args[0], int) else -1
        text = str(error.args[1]) if len(error.args) > 1 else str(error)
        if number in TIME_OVER or number == INTERRUPTED:
            raise too_slow(seconds) from None
        if number in LOST:
            raise SourceAway("The connection to the source was lost. Try again in a moment.") from None
        # Refusals name 'login'@'host'.
        text = re.sub(r"'[^']*'@'[^']*'", "the login", text.partition("\n")[0])
        if number in UNKNOWN_FUNCTION and (function := re.search(r"[\w$]+(?='| does not exist)", text)):
            raise StatementFailed(
                f"MySQL: the server has no function {function[0].lower()}. Write another one, or do it in Python."
            ) from None
        unknown = re.findall(r"Unknown column '([^']+)'", text) if number == UNKNOWN_COLUMN else []
        raise StatementFailed(
            f"MySQL: {text}.", unknown=unknown[0] if unknown else "", is_denied=number in DENIED
        ) from None


def _why(error: pymysql.Error) -> str:
    """Why a connection failed, in words of our own: the driver's name the host and the login."""
    number = error.args[0] if error.args else None
    known = {
        1045: "the login or its password is refused",
        1044: "the login may not use the database",
        1049: "the database does not exist",
        1040: "the server has no free connection",
        1130: "the server takes no connections from here",
    }
    return known.get(number, "the server does not answer") if isinstance(number, int) else "the server does not answer"
