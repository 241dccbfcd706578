"""The parts of SQL that a statement may consist of, by sqlglot's names. What is not here is refused."""

from __future__ import annotations

from typing import Final


def names(words: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split())


ROOTS: Final = frozenset({"Select", "Union", "Except", "Intersect", "Subquery", "Values"})
"""What a statement may be."""

ROOTS_OF: Final = {"duckdb": names("Summarize Describe Pivot")}
"""What a statement of one dialect may be besides."""

QUERY: Final = names(
    "Select Union Except Intersect Subquery Values With CTE From Join Where Group Having Order Ordered Limit Offset "
    "Fetch LimitOptions Qualify Window WindowSpec WithinGroup Filter Distinct Lateral Table TableAlias TableSample "
    "Cube Rollup GroupingSets IgnoreNulls RespectNulls HavingMax"
)
VALUES: Final = names(
    "Column Identifier Star Alias Aliases Literal Null Boolean National RawString HexString BitString Paren Tuple "
    "Interval IntervalSpan Var DataType DataTypeParam ColumnDef Bracket Slice Dot Lambda PropertyEQ Kwarg "
    "JSONKeyValue JSONValue JSONPath JSONPathFilter JSONPathKey JSONPathRecursive JSONPathRoot "
    "JSONPathSelector JSONPathSlice "
    "JSONPathSubscript JSONPathUnion JSONPathWildcard"
)
OPERATORS: Final = names(
    "Add Sub Mul Div IntDiv Mod DPipe EQ NEQ GT GTE LT LTE Is In Between Like ILike SimilarTo Glob Escape Not Neg "
    "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitwiseLeftShift BitwiseRightShift NullSafeEQ NullSafeNEQ Any All "
    "AtTimeZone Overlaps Distance And Or Xor"
)
CLAUSES: Final = names(
    "with_ expressions from_ joins laterals where group having qualify windows distinct order limit offset sample "
    "into locks hint pivots"
)
"""The clauses that a SELECT may have. The last ones are separate nodes, which are refused by name."""
NODES: Final = QUERY | VALUES | OPERATORS
NODES_OF: Final = {
    "mysql": names("JSONTable JSONSchema JSONColumnDef"),
    "duckdb": names("Summarize Describe Pivot PivotAlias UnpivotColumns Comprehension"),
}
"""Parts that one dialect has besides. `shapes.py` says what the larger ones may be made of."""

TYPES: Final = names(
    "ARRAY BIGDECIMAL BIGINT BINARY BIT BLOB BOOLEAN BPCHAR CHAR CHARACTER_SET DATE DATETIME DATETIME2 "
    "DECIMAL DECIMAL32 DECIMAL64 "
    "DECIMAL128 DOUBLE FLOAT HUGEINT INT INT128 INT256 INTERVAL JSON JSONB LIST LONGBLOB LONGTEXT MAP MEDIUMBLOB "
    "MEDIUMINT MEDIUMTEXT MONEY NAME NCHAR NULL NUMERIC NVARCHAR SMALLINT STRUCT TEXT TIME TIMETZ TIMESTAMP "
    "TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS TIMESTAMPNTZ TIMESTAMPLTZ TIMESTAMPTZ TINYBLOB TINYINT TINYTEXT UBIGINT "
    "UDECIMAL UINT UMEDIUMINT USMALLINT UTINYINT UUID VARBINARY VARBIT VARCHAR YEAR INET "
    "INT4RANGE INT8RANGE NUMRANGE TSRANGE TSTZRANGE DATERANGE"
)
"""Types that a value may be cast to. A type of a user's own may run a function of theirs."""

LOGIN_WORDS: Final = frozenset(
    {"user", "current_user", "session_user", "current_role", "current_catalog", "system_user"}
)
"""Words that Postgres reads as functions although they look like columns."""
