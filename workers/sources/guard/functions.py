"""The functions that a statement may call. What is not here is refused.

A function belongs here when its result depends on its arguments, on the rows and on the time alone, and when it does
nothing else: it opens no file, runs no statement given as text, waits for nothing and tells nothing of the server.
"""

from __future__ import annotations

from typing import Final

from workers.sources.guard.nodes import names

KNOWN: Final = names(
    # aggregates
    "Count CountIf Sum Avg Min Max ArgMax ArgMin AnyValue ArrayAgg ArrayUniqueAgg GroupConcat Stddev StddevPop "
    "StddevSamp Variance VariancePop Corr CovarPop CovarSamp RegrSlope RegrIntercept RegrR2 RegrCount RegrAvgx "
    "RegrAvgy RegrSxx RegrSxy RegrSyy Median Mode Quantile PercentileCont PercentileDisc ApproxDistinct "
    "ApproxQuantile ApproxTopK LogicalAnd LogicalOr BitwiseAndAgg BitwiseOrAgg BitwiseXorAgg Kurtosis Skewness "
    "Grouping GroupingId JSONObjectAgg JSONBObjectAgg JSONArrayAgg First Last "
    # windows
    "RowNumber Rank DenseRank PercentRank CumeDist Ntile Lag Lead FirstValue LastValue NthValue "
    # conditions and types
    "Case If Coalesce Nullif Greatest Least Cast TryCast Try Exists Nvl2 Typeof Collate And Or Xor IsNan IsInf "
    # numbers
    "Abs Ceil Floor Round Trunc Sqrt Cbrt Pow Exp Ln Log Sign Sin Cos Tan Asin Acos Atan Atan2 Sinh Cosh Tanh Cot "
    "Degrees Radians Pi Factorial Rand WidthBucket BitwiseCount SafeDivide "
    # text
    "Lower Upper Initcap Length ByteLength BitLength Concat ConcatWs Substring SubstringIndex Left Right Trim Pad "
    "Replace Repeat Reverse Split SplitPart StrPosition StartsWith EndsWith Contains Ascii Chr Unicode Space "
    "MatchAgainst Format Translate Overlay Soundex Levenshtein JarowinklerSimilarity RegexpLike "
    "RegexpILike RegexpReplace LowerHex "
    "RegexpExtract RegexpExtractAll RegexpSplit RegexpCount RegexpInstr RegexpSubstr RegexpFullMatch Hex Unhex "
    "MD5 SHA SHA2 ToBase64 FromBase64 ToChar NumberToStr Stuff StringToArray "
    # dates and times
    "CurrentDate CurrentTime CurrentTimestamp CurrentDatetime Localtime Localtimestamp UtcDate UtcTime "
    "UtcTimestamp Date Time Timestamp Datetime DateAdd DateSub DateDiff DateTrunc DateBin DateFromParts "
    "DatetimeAdd DatetimeDiff DatetimeSub DatetimeTrunc TimestampAdd TimestampSub TimestampDiff TimestampTrunc "
    "TimestampFromParts TimeAdd TimeSub TimeDiff TimeTrunc TimeFromParts Extract Year Quarter Month Week "
    "WeekOfYear WeekStart Day DayOfWeek DayOfWeekIso DayOfMonth DayOfYear Dayname Monthname Hour Minute Second "
    "LastDay AddMonths MonthsBetween YearOfWeek YearOfWeekIso StrToDate StrToTime StrToUnix TimeToStr "
    "TimeStrToTime TimeStrToDate TimeToUnix UnixToTime UnixToStr UnixSeconds UnixMillis UnixMicros TsOrDsAdd "
    "TsOrDsDiff TsOrDsToDate TsOrDsToTime TsOrDsToTimestamp TsOrDsToDatetime ToDays FromTimeZone ConvertTimezone "
    "MakeInterval JustifyDays JustifyHours JustifyInterval TimestampTzFromParts DateFromUnixDate "
    # JSON, arrays, maps, structs
    "JSONExtract JSONExtractScalar JSONBExtract JSONBExtractScalar JSONBContains JSONBExists JSONBPathExists "
    "JSONBDeleteAtPath JSONBContainsTopKey JSONBContainsAllTopKeys JSONBContainsAnyTopKeys JSONExists JSONArray "
    "JSONObject JSONKeys JSONType JSONFormat JSONArrayContains JSONStripNulls ParseJSON IsArray Array ArraySize "
    "ArrayContains "
    "ArrayContainsAll "
    "ArrayContainedBy ArrayOverlaps ArrayAppend ArrayPrepend ArrayConcat ArrayDistinct ArrayExcept ArrayFilter "
    "ArrayFirst ArrayIntersect ArrayLast ArrayMax ArrayMin ArrayPosition ArrayRemove ArrayReverse ArraySlice "
    "ArraySort ArraySum ArrayToString ArraysZip ArrayAll ArrayAny SortArray Transform Reduce Explode Posexplode "
    "Unnest Flatten List ToArray Map ToMap VarMap MapKeys MapSize MapFromEntries Struct StructExtract Columns "
    "GenerateSeries ExplodingGenerateSeries GenerateDateArray GenerateTimestampArray"
)
"""Functions that sqlglot knows by a class of their own, by the name of the class; for every dialect."""

POSTGRES: Final = names(
    "age all array_agg array_dims array_fill array_length array_lower array_ndims array_positions array_replace "
    "array_to_json array_upper bit_and bit_or bit_xor bool_and bool_or btrim cardinality clock_timestamp "
    "date_part decode div encode every gcd isfinite json_agg json_array_elements "
    "json_array_elements_text json_array_length "
    "json_build_array json_build_object json_each json_each_text json_extract_path json_extract_path_text "
    "json_object json_object_agg json_object_keys json_populate_record json_strip_nulls json_to_record "
    "json_to_recordset json_typeof jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length "
    "jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text "
    "jsonb_object jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query "
    "jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_to_record "
    "jsonb_to_recordset jsonb_typeof lcm log10 make_date make_time make_timestamp make_timestamptz min_scale mod "
    "num_nonnulls num_nulls octet_length plainto_tsquery phraseto_tsquery websearch_to_tsquery "
    "range_merge range_agg convert_from convert_to lower_inc upper_inc "
    "isempty regexp_match regexp_matches regexp_split_to_array regexp_split_to_table row_to_json scale similarity some "
    "statement_timestamp string_to_table timeofday timezone to_date to_json to_jsonb to_number to_timestamp to_tsquery "
    "to_tsvector transaction_timestamp trim_array trim_scale ts_headline ts_rank unaccent word_similarity "
    "daterange int4range int8range numrange tsrange tstzrange row quote_literal to_hex pg_typeof bit_count sha256"
)
MYSQL: Final = names(
    "adddate addtime bin now date_add date_sub datediff bit_and bit_or bit_xor conv convert_tz crc32 elt "
    "export_set field inet_aton inet_ntoa "
    "find_in_set format from_days from_unixtime insert instr interval isnull json_array json_array_append "
    "json_contains "
    "json_contains_path json_depth json_length json_merge_patch json_merge_preserve json_overlaps json_quote "
    "json_remove json_replace json_search json_set json_unquote json_valid locate log10 log2 lpad "
    "ltrim makedate make_set maketime microsecond mod oct ord period_add period_diff position rpad rtrim "
    "sec_to_time std stddev strcmp subdate substr subtime sysdate timediff timestampadd time_format "
    "time_to_sec to_seconds truncate "
    "ucase lcase unix_timestamp var_pop var_samp weekday yearweek regexp_substr regexp_instr regexp_replace "
    "regexp_like json_arrayagg json_objectagg mid quote curdate curtime dayname monthname"
)
SQLITE: Final = names(
    "abs char coalesce date datetime julianday strftime format instr json json_array json_array_length json_each "
    "json_error_position json_extract json_group_array json_group_object json_insert json_object json_patch "
    "json_quote json_remove json_replace json_set json_tree json_type json_valid likelihood likely unlikely log10 "
    "log2 max min mod printf quote time timediff total unixepoch substr round"
)
DUCKDB: Final = names(
    "age array_agg array_aggregate array_extract bar bin bit_and bit_or bit_xor bool_and bool_or century chr "
    "datepart date_part datesub date_sub decade digits editdist3 epoch epoch_ms epoch_ns epoch_us era even favg "
    "flatten format fsum gamma gcd generate_subscripts greatest_common_divisor hamming hash histogram "
    "histogram_exact isfinite isoyear json_array_length json_contains json_each json_exists json_extract "
    "json_extract_path json_extract_path_text json_extract_string json_group_array json_group_object json_keys "
    "json_merge_patch json_object json_quote json_structure json_tree json_type json_valid jaccard kahan_sum lcm "
    "damerau_levenshtein element_at julian len lgamma list_aggregate list_any_value list_avg "
    "list_bool_and list_bool_or list_concat list_count "
    "list_cosine_similarity list_extract list_has_all list_has_any list_max list_min list_median "
    "list_mode list_position list_reduce list_pack list_resize list_reverse_sort list_select list_slice "
    "list_sum list_unique list_value "
    "list_where list_zip log10 log2 mad make_date make_time make_timestamp map_contains map_entries map_extract "
    "map_values max_by min_by microsecond millennium millisecond mod nextafter now parse_dirname parse_filename "
    "parse_path percentile_cont prefix printf product quantile_disc range round_even row row_to_json "
    "strlen regexp_escape "
    "regexp_split_to_array reservoir_quantile sem set_bit string_split_regex strip_accents struct_insert "
    "struct_pack suffix timezone timezone_hour time_bucket to_centuries to_days to_decades to_hours to_json "
    "to_microseconds to_milliseconds to_minutes to_months to_seconds to_timestamp to_weeks to_years trunc "
    "try_strptime unpivot_list url_decode url_encode weekday yearweek entropy list_sort list_filter date_diff "
    "strftime geomean bit_count cardinality list_reverse list_intersect list_grade_up ord divide octet_length "
    "from_json json_transform pg_typeof approx_top_k get_current_timestamp"
)
ROWS_OF_DUCKDB: Final = names("generate_series range json_each json_tree unnest")
"""What may give rows in DuckDB's FROM. There a name may be another function: `histogram` reads the table of a name."""
CLICKHOUSE: Final = names(
    "toyyyymm toyear tomonth todayofmonth todayofweek tohour tostartofmonth tostartofyear tostartofweek tostartofday "
    "tostartofquarter tostartofhour todate todatetime tostring toint64 toint32 tofloat64 todecimal64 touint64 "
    "datediff adddays addmonths subtractdays length empty notempty multiif uniq uniqexact quantileexact topk "
    "argmin argmax countif sumif avgif jsonextractstring jsonextractint jsonextractfloat jsonextractbool jsonhas "
    "splitbychar arrayjoin has groupuniqarray grouparray formatdatetime positioncaseinsensitive tostartofinterval"
)
SNOWFLAKE: Final = names("div0 iff zeroifnull nvl to_varchar to_number get_path array_size object_keys monthname")
BIGQUERY: Final = names("safe_divide parse_date format_date format_timestamp countif approx_quantiles")
TRINO: Final = names("date_parse date_format from_unixtime format_datetime approx_distinct cardinality map_agg")
TSQL: Final = names("isnull datepart datename eomonth charindex len patindex iif format datefromparts")
BY_DIALECT: Final = {
    **{"postgres": POSTGRES, "mysql": MYSQL, "sqlite": SQLITE, "duckdb": DUCKDB, "clickhouse": CLICKHOUSE},
    **{"snowflake": SNOWFLAKE, "bigquery": BIGQUERY, "trino": TRINO, "tsql": TSQL},
}
"""Further functions per dialect, by their names in small letters."""

INSTEAD: Final = {
    "pg_sleep": "leave it out: a query does not wait",
    "sleep": "leave it out: a query does not wait",
    "read_csv": "name a table of the source; a file is sent to the thread instead",
    "read_parquet": "name a table of the source; a file is sent to the thread instead",
    "json_extract": "write column -> 'key', or column ->> 'key' for text",
    "current_schema": "leave it out: a table is named as table or schema.table",
    "version": "leave it out: the server is not a subject",
    "current_user": "leave it out: the login is not a subject",
}
"""What to do instead of some functions that people often try."""

_FRAME = "read the values, and compute it from the frame"
_DAYS = "write julianday(a) - julianday(b), which are days"
_PART = "write CAST(strftime('%Y', x) AS INTEGER); %m is the month, %d the day, %w the day of the week"
INSTEAD_OF: Final = {
    "postgres": {
        **dict.fromkeys(("date_format", "strftime"), "write to_char(x, 'YYYY-MM')"),
        **dict.fromkeys(
            ("date_diff", "timestampdiff"),
            "write a::date - b::date for days, or extract(epoch FROM a - b) / 3600 for hours",
        ),
        "dateadd": "write x + interval '1 day'",
        "isnull": "write x IS NULL, or coalesce(x, 0)",
        "listagg": "write string_agg(x::text, ', ')",
        "quarter": "write extract(quarter FROM x)",
        "day_of_week": "write extract(dow FROM x), where 0 is Sunday",
        "approx_distinct": "write count(DISTINCT x)",
        **dict.fromkeys(("arg_max", "arg_min"), "write (array_agg(a ORDER BY b DESC))[1]"),
        "json_table": "write jsonb_to_recordset(doc) AS x(a int, b text), or jsonb_array_elements(doc)",
    },
    "mysql": {
        **dict.fromkeys(("to_char", "strftime"), "write DATE_FORMAT(x, '%Y-%m')"),
        "date_diff": "write DATEDIFF(a, b) for days, or TIMESTAMPDIFF(HOUR, b, a)",
        "dateadd": "write x + INTERVAL 1 DAY",
        **dict.fromkeys(
            ("jsonb_array_elements", "json_array_elements", "json_each"),
            "write JSON_TABLE(doc, '$[*]' COLUMNS (v TEXT PATH '$')) AS j in FROM",
        ),
        "listagg": "write GROUP_CONCAT(x SEPARATOR ', ')",
        "approx_distinct": "write COUNT(DISTINCT x)",
    },
    "sqlite": {
        **dict.fromkeys(("date_trunc", "timestamp_trunc"), "write strftime('%Y-%m-01', x) for a month, or date(x)"),
        **dict.fromkeys(("date_format", "to_char"), "write strftime('%Y-%m', x)"),
        **dict.fromkeys(("extract", "date_part", "year", "month", "day", "hour", "day_of_week"), _PART),
        "quarter": "write (CAST(strftime('%m', x) AS INTEGER) + 2) / 3",
        "now": "write datetime('now')",
        "date_add": "write datetime(x, '+1 hour'), or date(x, '+1 day') for a day without a time",
        "date_sub": "write datetime(x, '-1 hour'), or date(x, '-1 day') for a day without a time",
        **dict.fromkeys(("date_diff", "datediff"), _DAYS),
        **dict.fromkeys(("median", "percentile_cont", "percentile_disc", "quantile"), _FRAME),
        **dict.fromkeys(("stddev", "stddev_pop", "stddev_samp", "variance", "variance_pop", "corr"), _FRAME),
        "array_agg": "write json_group_array(x) or group_concat(x, ', ')",
        "regexp_like": "write LIKE or GLOB, or filter the frame",
        "split_part": "write substr(x, 1, instr(x, ',') - 1)",
        "generate_series": "write WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10)",
    },
    "duckdb": {
        **dict.fromkeys(("date_format", "to_char"), "write strftime(x, '%Y-%m')"),
        "dateadd": "write x + INTERVAL 1 DAY",
        "timestampdiff": "write date_diff('day', a, b)",
        "isnull": "write x IS NULL, or coalesce(x, 0)",
        **dict.fromkeys(("jsonb_array_elements", "json_array_elements"), "write unnest(CAST(doc AS JSON[]))"),
    },
}
"""What to write instead of functions that a database does not have. sqlglot knows some of them by a class."""
