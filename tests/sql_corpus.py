"""Statements for the guard and the drivers of data sources: hostile ones, and tricky ones that must run.

The world that they run in is `sources_world.py`: customers, orders, "Odd Name", and salaries, which is denied.
"""

from __future__ import annotations

WRITES = """
INSERT INTO orders (id) VALUES (99)
UPDATE orders SET amount = 0
DELETE FROM orders
DROP TABLE orders
DROP TABLE IF EXISTS orders
ALTER TABLE orders ADD COLUMN x int
CREATE TABLE evil (x int)
CREATE TABLE evil AS SELECT * FROM orders
CREATE VIEW evil AS SELECT * FROM orders
CREATE INDEX evil ON orders (amount)
SELECT 1; DROP TABLE orders
SELECT 1; DELETE FROM orders; SELECT 2
SELECT 1;; DELETE FROM orders
/* harmless */ DELETE FROM orders -- really
DELETE FROM orders WHERE id IN (SELECT 1)
BEGIN
COMMIT
COMMIT; DROP TABLE orders
ROLLBACK; DROP TABLE orders
SELECT * FROM salaries
SELECT (SELECT max(pay) FROM salaries)
WITH salaries AS (SELECT * FROM salaries) SELECT * FROM salaries
WITH s AS (SELECT 1 AS x) SELECT * FROM orders WHERE id IN (SELECT id FROM salaries)
SELECT * FROM orders UNION SELECT id, id, pay, name FROM salaries
SELECT * FROM orders o JOIN salaries s ON o.id = s.id
SELECT (SELECT 1 FROM orders WHERE EXISTS (SELECT 1 FROM salaries))
SELECT (WITH salaries AS (SELECT 1) SELECT 1 FROM salaries), (SELECT count(*) FROM salaries)
SELECT * FROM information_schema.tables
SELECT * FROM threadbook_sources.public.orders.salaries
WITH "to\u212aens" AS (SELECT 1) SELECT * FROM "tokens"
"""

POSTGRES = """
WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone
WITH gone AS (UPDATE orders SET amount = 0 RETURNING *) SELECT * FROM gone
WITH a AS (SELECT 1), b AS (INSERT INTO orders (id) VALUES (77) RETURNING id) SELECT * FROM a, b
SELECT * INTO evil FROM orders
SELECT * FROM orders FOR UPDATE
SELECT * FROM orders FOR SHARE
TRUNCATE orders
TRUNCATE TABLE orders CASCADE
TABLE salaries
COPY orders TO '/tmp/evil'
COPY orders FROM '/etc/passwd'
COPY orders TO PROGRAM 'id'
COPY (SELECT 1) TO PROGRAM 'id'
EXPLAIN ANALYZE DELETE FROM orders
EXPLAIN SELECT 1
DO $$ BEGIN DELETE FROM orders; END $$
CALL evil()
EXECUTE evil
PREPARE evil AS DELETE FROM orders
SELECT nextval('orders_seq')
SELECT "nextval"('orders_seq')
SELECT pg_catalog.nextval('orders_seq')
SELECT setval('orders_seq', 1000)
SELECT U&"\\006eextval"('orders_seq')
SELECT lo_create(4242)
SELECT lo_from_bytea(4243, 'x')
SELECT lo_import('/etc/passwd')
SELECT lo_export(1, '/tmp/x')
SELECT pg_read_file('/etc/passwd')
SELECT pg_read_binary_file('/etc/passwd')
SELECT pg_ls_dir('/')
SELECT * FROM pg_ls_dir('/')
SELECT * FROM pg_stat_file('/etc/passwd')
SELECT pg_sleep(100)
SELECT * FROM orders, LATERAL pg_sleep(100)
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
SELECT pg_cancel_backend(1)
SELECT pg_reload_conf()
SELECT pg_advisory_lock(1)
SELECT pg_notify('a', 'b')
SELECT set_config('transaction_read_only', 'off', false)
SELECT set_config('default_transaction_read_only', 'off', false)
SELECT current_setting('config_file')
SET transaction_read_only = off
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
RESET ROLE
SET ROLE postgres
SELECT query_to_xml('delete from orders', true, true, '')
SELECT table_to_xml('salaries', true, true, '')
SELECT database_to_xml(true, true, '')
SELECT cursor_to_xml('x', 1, true, true, '')
SELECT dblink_exec('dbname=x', 'drop table orders')
SELECT * FROM dblink('dbname=x', 'select 1') AS t(a int)
SELECT ts_stat('select pay from salaries')
SELECT * FROM pg_catalog.pg_shadow
SELECT * FROM pg_shadow
SELECT * FROM pg_stat_activity
SELECT * FROM pg_catalog.pg_authid
SELECT current_user
SELECT user
SELECT session_user, version()
SELECT inet_server_addr()
SELECT pg_get_viewdef('x')
SELECT has_table_privilege('salaries', 'select')
SELECT 'salaries'::regclass
SELECT 1 OPERATOR(pg_catalog.+) 1
SELECT 'x'::evil_domain
SELECT E'\\' ; DELETE FROM orders; --'
SELECT $1
SELECT evil(1)
SELECT public.evil(1)
SELECT steal()
VACUUM orders
ANALYZE orders
CLUSTER orders
REINDEX TABLE orders
LOCK TABLE orders
LISTEN x
NOTIFY x
GRANT ALL ON orders TO PUBLIC
REVOKE ALL ON orders FROM PUBLIC
CREATE ROLE evil SUPERUSER
ALTER ROLE postgres PASSWORD 'x'
CREATE EXTENSION dblink
CREATE FUNCTION e() RETURNS int LANGUAGE sql AS 'select 1'
COMMENT ON TABLE orders IS 'evil'
MERGE INTO orders USING customers ON true WHEN MATCHED THEN DELETE
DECLARE c CURSOR FOR SELECT 1
WITH to\u212aens AS (SELECT 1) SELECT * FROM tokens
SELECT ('/etc/passwd'::text).pg_read_file
SELECT (100).pg_sleep
SELECT (ARRAY[100])[1].pg_sleep
SELECT ((ARRAY[100])[1]).pg_sleep
SELECT ('orders_seq'::text).nextval
SELECT x.ts_stat FROM unnest(ARRAY['select to_tsvector(pay::text) from salaries']) AS x
SELECT x."pg_sleep" FROM generate_series(100, 200) AS x
SELECT x.pg_sleep FROM generate_series(100, 200) AS x(n)
SELECT x.pg_sleep FROM orders, LATERAL unnest(ARRAY[100]) AS x
SELECT generate_series.pg_sleep FROM generate_series(100, 200)
SELECT (x.n).pg_sleep FROM generate_series(100, 200) AS x(n)
SELECT x.pg_terminate_backend FROM unnest(ARRAY[1]) AS x, (SELECT 1) AS y
SELECT (SELECT x.pg_sleep FROM unnest(ARRAY[100]) AS x) FROM orders AS x
SELECT * FROM public.unnest(ARRAY[1])
SELECT FROM orders
SELECT (SELECT FROM orders)
SELECT * FROM (SELECT FROM orders) AS x
SELECT 1 WHERE EXISTS (SELECT FROM salaries)
SELECT 1 WHERE EXISTS (SELECT FROM "salaries" AS orders)
SELECT 1 WHERE NOT EXISTS ((SELECT FROM orders, salaries))
SELECT 1 WHERE EXISTS (SELECT FROM orders WHERE id IN (SELECT pay FROM salaries))
SELECT 1 WHERE EXISTS (SELECT FROM pg_sleep(100))
SELECT 1 WHERE EXISTS (SELECT INTO evil FROM orders)
SELECT to_json(user -> 'x')
"""

MYSQL = """
SELECT * FROM orders INTO OUTFILE '/tmp/evil'
SELECT 1 INTO DUMPFILE '/tmp/evil'
SELECT 1 INTO @x
SELECT LOAD_FILE('/etc/passwd')
SELECT load_file(0x2f6574632f706173737764)
LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE orders
LOAD DATA INFILE '/etc/passwd' INTO TABLE orders
SELECT SLEEP(100)
SELECT BENCHMARK(1000000000, MD5('x'))
SELECT GET_LOCK('x', 100)
SELECT @@version
SELECT @@global.secure_file_priv
SELECT @x := 1
SELECT /*! SLEEP(100), */ 1
SELECT 1 /*!50000 UNION SELECT pay FROM salaries */
SELECT 1 /*M! , SLEEP(100) */
SELECT /*+ SET_VAR(sql_mode='') */ 1
/*! DELETE FROM orders */
SELECT * FROM orders FOR UPDATE
SELECT * FROM orders LOCK IN SHARE MODE
SELECT SQL_CALC_FOUND_ROWS * FROM orders
SELECT * FROM orders PROCEDURE ANALYSE()
SELECT * FROM mysql.user
SELECT * FROM mysql.global_priv
SELECT * FROM performance_schema.threads
SHOW TABLES
SHOW GRANTS
SHOW VARIABLES
DESCRIBE orders
EXPLAIN DELETE FROM orders
HANDLER orders OPEN
REPLACE INTO orders (id) VALUES (1)
INSERT IGNORE INTO orders (id) VALUES (98)
TRUNCATE TABLE orders
RENAME TABLE orders TO evil
LOCK TABLES orders WRITE
FLUSH TABLES
KILL 1
SET GLOBAL general_log = 1
SET SESSION TRANSACTION READ WRITE
SET PASSWORD = 'x'
CALL evil()
DO SLEEP(100)
PREPARE s FROM 'DROP TABLE orders'
EXECUTE IMMEDIATE 'DROP TABLE orders'
CREATE USER evil
GRANT ALL ON *.* TO evil
CREATE DATABASE evil
DROP DATABASE threadbook_sources
OPTIMIZE TABLE orders
CREATE TEMPORARY TABLE evil (x int)
SELECT MASTER_POS_WAIT('x', 1)
SELECT UPDATEXML(1, CONCAT(0x7e, VERSION()), 1)
SELECT EXTRACTVALUE(1, CONCAT(0x7e, USER()))
SELECT * FROM JSON_TABLE((SELECT JSON_ARRAYAGG(pay) FROM salaries), '$[*]' COLUMNS (pay INT PATH '$')) AS j
SELECT j.n FROM salaries s, JSON_TABLE(s.name, '$' COLUMNS (n TEXT PATH '$')) AS j
SELECT j.n FROM orders o JOIN `SALARIES` s JOIN JSON_TABLE(s.name, '$' COLUMNS (n TEXT PATH '$')) AS j
SELECT * FROM JSON_TABLE(LOAD_FILE('/etc/passwd'), '$' COLUMNS (n TEXT PATH '$')) AS j
SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (n INT PATH '$' DEFAULT (SELECT max(pay) FROM salaries) ON EMPTY)) AS j
SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (n INT PATH '$' DEFAULT SLEEP(100) ON ERROR)) AS j
SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (NESTED PATH '$' COLUMNS (n INT PATH '$' DEFAULT @@port ON EMPTY))) AS j
SELECT * FROM shop.JSON_TABLE('[]', '$' COLUMNS (n INT PATH '$')) AS j
WITH j AS (SELECT 1) SELECT * FROM JSON_TABLE((SELECT pay FROM salaries), '$' COLUMNS (n INT PATH '$')) AS j
SELECT JSON_LENGTH((SELECT name FROM salaries)->'$.a')
SELECT NEXTVAL(orders_seq)
SELECT USER(), DATABASE(), CONNECTION_ID()
SELECT sys_exec('id')
WITH SALARIES AS (SELECT 1) SELECT * FROM salaries
"""

SQLITE = """
ATTACH DATABASE '/tmp/evil.db' AS evil
DETACH DATABASE main
PRAGMA writable_schema = ON
PRAGMA query_only = OFF
PRAGMA journal_mode = WAL
PRAGMA table_info(orders)
SELECT * FROM pragma_table_info('orders')
SELECT * FROM pragma_database_list
SELECT * FROM sqlite_master
SELECT * FROM sqlite_schema
SELECT * FROM main.sqlite_master
SELECT * FROM sqlite_sequence
SELECT load_extension('/tmp/evil.so')
SELECT "load_extension"('/tmp/evil.so')
SELECT readfile('/etc/passwd')
SELECT writefile('/tmp/evil', 'x')
SELECT edit('x')
SELECT fts3_tokenizer('simple')
SELECT randomblob(1000000000)
SELECT zeroblob(1000000000)
REPLACE INTO orders (id) VALUES (1)
INSERT OR REPLACE INTO orders (id) VALUES (1)
VACUUM
VACUUM INTO '/tmp/evil.db'
REINDEX
ANALYZE
CREATE TEMP TABLE evil (x)
CREATE TRIGGER evil AFTER INSERT ON orders BEGIN DELETE FROM orders; END
CREATE VIRTUAL TABLE evil USING fts5(x)
SAVEPOINT x
EXPLAIN DELETE FROM orders
WITH x AS (SELECT 1) DELETE FROM orders
WITH x AS (SELECT 1) INSERT INTO orders (id) SELECT 97
SELECT * FROM temp.salaries
SELECT sqlite_compileoption_get(0)
SELECT * FROM "SALARIES"
SELECT * FROM [salaries]
SELECT id FROM orders WHERE (1, 'Ana', 100) IN salaries
SELECT id FROM orders WHERE 1 NOT IN main.salaries
SELECT 1 IN "sqlite_master"
SELECT :x
"""

DUCKDB = """
SELECT * FROM '/etc/passwd'
SELECT * FROM "/etc/passwd"
WITH RECURSIVE salaries AS (SELECT * FROM salaries) SELECT * FROM salaries
WITH RECURSIVE salaries AS (SELECT * FROM salaries UNION ALL SELECT * FROM salaries WHERE false) FROM salaries
WITH RECURSIVE salaries AS (SELECT 1 AS pay UNION ALL SELECT pay FROM salaries UNION ALL SELECT 2) FROM salaries
WITH RECURSIVE salaries AS (SELECT 1 AS pay UNION ALL BY NAME SELECT pay FROM salaries) FROM salaries
WITH RECURSIVE salaries AS (SELECT 1 AS pay EXCEPT SELECT pay FROM salaries) FROM salaries
WITH RECURSIVE salaries AS (SELECT * FROM (SELECT 1 AS pay UNION SELECT pay FROM salaries)) FROM salaries
WITH RECURSIVE salaries AS (WITH s AS (FROM salaries) SELECT 1 AS id UNION SELECT id FROM s) FROM salaries
WITH RECURSIVE salaries AS (SELECT 1 AS pay ORDER BY (SELECT max(pay) FROM salaries)) FROM salaries
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_csv_auto('/etc/passwd')
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM read_blob('/etc/passwd')
SELECT * FROM read_parquet('https://evil.example/x.parquet')
SELECT * FROM read_json('/etc/passwd')
SELECT * FROM read_ndjson_objects('/etc/passwd')
SELECT * FROM parquet_metadata('/tmp/x.parquet')
SELECT * FROM parquet_schema('/tmp/x.parquet')
SELECT * FROM sniff_csv('/etc/passwd')
SELECT * FROM glob('/*')
SELECT * FROM read_duckdb('/tmp/x.db')
SELECT getenv('HOME')
COPY orders TO '/tmp/evil.csv'
COPY (SELECT 1) TO '/tmp/evil.csv'
COPY orders FROM '/etc/passwd'
EXPORT DATABASE '/tmp/evil'
IMPORT DATABASE '/tmp/evil'
ATTACH '/tmp/evil.db' AS evil
ATTACH ':memory:' AS evil
INSTALL httpfs
LOAD httpfs
INSTALL evil FROM community
SET enable_external_access = true
SET lock_configuration = false
SET allowed_directories = ['/']
RESET enable_external_access
PRAGMA database_list
PRAGMA enable_profiling
CALL pragma_version()
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_tables()
SELECT * FROM pragma_table_info('orders')
SELECT * FROM query('DELETE FROM orders')
SELECT * FROM query_table('salaries')
SELECT * FROM histogram('salaries', pay)
FROM HISTOGRAM('main.salaries', name, bin_count := 100, technique := 'sample')
SELECT * FROM orders, LATERAL histogram('salaries', pay)
SELECT current_setting('home_directory')
SELECT nextval('orders_seq')
SELECT * FROM sqlite_master
SHOW TABLES
DESCRIBE salaries
SUMMARIZE salaries
FROM salaries
FROM '/etc/passwd' SELECT *
EXPLAIN ANALYZE DELETE FROM orders
CHECKPOINT
FORCE CHECKPOINT
VACUUM
USE memory
CREATE MACRO evil() AS 1
CREATE SECRET evil (TYPE s3)
CREATE OR REPLACE TEMP TABLE orders AS SELECT 1
PIVOT orders ON amount USING sum(id)
PIVOT salaries ON id IN (1) USING sum(pay)
PIVOT main.salaries ON id IN (1) USING sum(pay)
PIVOT "SALARIES" ON id IN (1) USING sum(pay)
PIVOT (FROM salaries) ON id IN (1) USING sum(pay)
PIVOT (SELECT (SELECT max(pay) FROM salaries) AS pay, 1 AS id) ON id IN (1) USING sum(pay)
PIVOT '/etc/passwd' ON column0 IN (1) USING count(*)
PIVOT read_csv('/etc/passwd') ON column0 IN (1) USING count(*)
PIVOT histogram('salaries', pay) ON bin IN (1) USING count(*)
PIVOT orders ON id IN (SELECT pay FROM salaries) USING sum(amount)
PIVOT orders ON id IN salaries USING sum(amount)
PIVOT orders ON id IN (1) USING max((SELECT max(pay) FROM salaries))
PIVOT orders ON id IN (1) USING max(getenv('HOME'))
PIVOT orders ON id IN ((SELECT max(pay) FROM salaries)) USING sum(amount)
SELECT * FROM salaries PIVOT (sum(pay) FOR id IN (1))
SELECT * FROM (FROM salaries) PIVOT (sum(pay) FOR id IN (1))
SELECT * FROM orders PIVOT (sum(amount) FOR id IN (SELECT pay FROM salaries))
SELECT * FROM orders PIVOT (sum(amount) FOR id IN (1)) JOIN salaries ON true
SELECT * FROM (PIVOT salaries ON id IN (1) USING sum(pay))
SELECT * FROM (PIVOT orders ON id USING sum(amount))
WITH p AS (PIVOT salaries ON id IN (1) USING sum(pay)) SELECT * FROM p
WITH s AS (FROM salaries) PIVOT s ON id IN (1) USING sum(pay)
WITH RECURSIVE salaries AS (PIVOT salaries ON id IN (1) USING sum(pay)) FROM salaries
UNPIVOT salaries ON pay INTO NAME n VALUE v
UNPIVOT (FROM salaries) ON COLUMNS('pay') INTO NAME n VALUE v
UNPIVOT '/etc/passwd' ON COLUMNS(*) INTO NAME n VALUE v
SELECT * FROM salaries UNPIVOT (v FOR n IN (pay))
SELECT * FROM (UNPIVOT salaries ON pay INTO NAME n VALUE v)
SUMMARIZE main.salaries
SUMMARIZE "SALARIES"
SUMMARIZE TABLE salaries
SUMMARIZE FROM salaries
SUMMARIZE SELECT pay FROM salaries
SUMMARIZE '/etc/passwd'
SUMMARIZE "/etc/passwd"
SUMMARIZE read_csv('/etc/passwd')
SUMMARIZE FROM read_csv('/etc/passwd')
SUMMARIZE DELETE FROM orders
SUMMARIZE duckdb_settings
SELECT * FROM (SUMMARIZE salaries)
SELECT max FROM (SUMMARIZE SELECT pay FROM salaries)
WITH s AS (SUMMARIZE salaries) SELECT * FROM s
WITH RECURSIVE salaries AS (SUMMARIZE salaries) FROM salaries
WITH RECURSIVE salaries AS (SELECT 1 AS pay UNION ALL SELECT 2 FROM (SUMMARIZE salaries)) FROM salaries
SELECT (SELECT max FROM (SUMMARIZE salaries) LIMIT 1) FROM orders
DESCRIBE SELECT * FROM salaries
DESCRIBE '/etc/passwd'
DESCRIBE FROM read_csv('/etc/passwd')
SELECT * FROM (DESCRIBE salaries)
SELECT * FROM (SHOW TABLES)
SELECT * FROM (SHOW ALL TABLES)
SELECT [getenv(x) FOR x IN ['HOME']]
SELECT [x FOR x IN (SELECT list(pay) FROM salaries)]
SELECT len((SELECT list(name) FROM salaries) -> 'x')
SELECT max(getenv('HOME') -> 'x')
SELECT write_log('x')
SELECT * FROM orders POSITIONAL JOIN salaries
SELECT * FROM main.range(3)
INSERT INTO orders BY NAME SELECT 1 AS id
SELECT $x
"""


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


ODD = ("SELECT 1\0; DROP TABLE orders", "", ";", "-- nothing", "SELECT", "SELECT " + "(" * 3_000 + "1" + ")" * 3_000)
HOSTILE: dict[str, list[str]] = {
    "postgres": [*_lines(WRITES), *_lines(POSTGRES), *ODD],
    "mysql": [*_lines(WRITES), *_lines(MYSQL), *ODD],
    "sqlite": [*_lines(WRITES), *_lines(SQLITE), *ODD],
    "duckdb": [*_lines(WRITES), *_lines(DUCKDB), *ODD],
}

EVERYWHERE = """
SELECT * FROM orders
select ID, amount from orders where amount > 10 order by amount desc limit 2;
SELECT count(*), sum(amount), avg(amount), min(placed), max(placed) FROM orders; -- all of it
/* a comment */ SELECT 1 AS one -- and another
WITH big AS (SELECT * FROM orders WHERE amount > 10) SELECT count(*) FROM big
WITH a AS (SELECT 1 AS n), b AS (SELECT n + 1 AS n FROM a) SELECT * FROM a UNION ALL SELECT * FROM b
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT * FROM n
SELECT id, sum(amount) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS moving FROM orders
SELECT id, row_number() OVER (PARTITION BY customer ORDER BY amount DESC) AS place FROM orders
SELECT id, lag(amount) OVER w, lead(amount) OVER w FROM orders WINDOW w AS (ORDER BY id)
SELECT id FROM orders UNION SELECT id FROM customers
SELECT id FROM customers EXCEPT SELECT customer FROM orders WHERE customer > 100
SELECT id FROM customers INTERSECT SELECT id FROM orders
SELECT c.name, o.amount FROM customers AS c LEFT JOIN orders AS o ON o.customer = c.id
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)
SELECT customer, count(DISTINCT id) FROM orders GROUP BY customer HAVING count(*) >= 1 ORDER BY 2 DESC
SELECT CASE WHEN amount > 10 THEN 'drop table' ELSE 'delete; from' END AS words FROM orders
SELECT coalesce(name, 'none'), nullif(name, ''), upper(name), length(name) FROM customers
SELECT CAST(amount AS DECIMAL(10, 2)) FROM orders
SELECT name FROM customers WHERE name LIKE '%a%' OR name IN ('Ben', 'x') OR id BETWEEN 1 AND 2
SELECT 'it''s; DROP TABLE orders' AS text
SELECT * FROM (SELECT id, amount FROM orders) AS x WHERE x.amount > 1
SELECT current_date, current_timestamp
SELECT max(amount) - min(amount) AS spread, round(avg(amount), 1) FROM orders
SELECT o.* FROM orders o CROSS JOIN customers c LIMIT 3 OFFSET 1
"""
TRICKY: dict[str, list[str]] = {
    "postgres": [
        *_lines(EVERYWHERE),
        'SELECT "Weird; Col" FROM "Odd Name"',
        "SELECT date_trunc('month', placed), count(*) FILTER (WHERE amount > 5) FROM orders GROUP BY 1",
        "SELECT extract(dow FROM placed), placed - interval '3 days', age(now(), placed) FROM orders",
        "SELECT now() AT TIME ZONE 'UTC', to_char(placed, 'YYYY-MM') FROM orders",
        "SELECT c.name, t.amount FROM customers c, LATERAL (SELECT amount FROM orders o WHERE o.id = c.id) t",
        "SELECT extra->>'plan', extra #>> '{tags,0}', extra @> '{\"plan\": \"pro\"}'::jsonb FROM customers",
        "SELECT name, t FROM customers, jsonb_array_elements_text(extra->'tags') AS t",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount), string_agg(id::text, ',' ORDER BY id) FROM orders",
        "SELECT DISTINCT ON (customer) customer, amount FROM orders ORDER BY customer, amount DESC",
        "SELECT * FROM generate_series(1, 3) AS g(n)",
        "SELECT u.v, u.i FROM unnest(ARRAY[1, 2]) WITH ORDINALITY AS u(v, i)",
        "SELECT g.g, s.n, e.key, e.value FROM generate_series(1, 2) AS g, generate_series(1, 2) AS s(n), "
        "customers AS c, jsonb_each(c.extra) AS e",
        "SELECT (jsonb_each(extra)).key, (c).* FROM customers AS c",
        "SELECT jsonb_each.key, unnest.unnest FROM customers, jsonb_each(extra), unnest(ARRAY[1])",
        "SELECT array_agg(id ORDER BY id), (array_agg(id))[1] FROM orders",
        "SELECT customer, sum(amount) FROM orders GROUP BY ROLLUP (customer)",
        "SELECT name ~* '^b', name SIMILAR TO 'A%', name ILIKE 'a%' FROM customers",
        "SELECT $$it's; DROP TABLE orders$$ AS quoted, 'back\\slash'",
        "SELECT * FROM public.orders WHERE customer = ANY (ARRAY[1, 2])",
        "SELECT x.*, x.a FROM jsonb_to_recordset('[{\"a\":1}]') AS x(a int, b text)",
        "VALUES (1, 'a'), (2, 'b')",
        "TABLE orders",
        "SELECT amount > ALL (ARRAY[1, 2]), amount = SOME (ARRAY[3.00]) FROM orders",
        "SELECT to_tsvector('simple', name) @@ plainto_tsquery('simple', 'ada'), extra @@ '$.id > 3' FROM customers",
        "SELECT to_hex(255), octet_length('x'), encode(decode('6162', 'hex'), 'base64'), timezone('UTC', now())",
        "SELECT current_time, current_time(0), localtime",
        "SELECT pg_typeof(amount), bit_count(b'101'), encode(sha256(name::bytea), 'hex') FROM orders, customers",
        "SELECT id FROM orders WHERE customer = SOME (SELECT id FROM customers)",
        "SELECT name FROM customers c WHERE EXISTS (SELECT FROM orders o WHERE o.customer = c.id)",
        "SELECT name FROM customers c WHERE NOT EXISTS ((SELECT FROM orders o WHERE o.customer > c.id + 5))",
        "SELECT jsonb_array_length(extra -> 'tags'), count(extra -> 'tags' -> 0) FROM customers GROUP BY extra",
    ],
    "mysql": [
        *_lines(EVERYWHERE),
        "SELECT `Weird; Col` FROM `Odd Name`",
        "SELECT DATE_FORMAT(placed, '%Y-%m'), SUM(amount) FROM orders GROUP BY 1",
        "SELECT GROUP_CONCAT(DISTINCT id ORDER BY id SEPARATOR ';') FROM orders",
        "SELECT JSON_EXTRACT(extra, '$.plan'), JSON_UNQUOTE(JSON_EXTRACT(extra, '$.plan')) FROM customers",
        "SELECT extra->>'$.plan' FROM customers",
        "SELECT name RLIKE '^B', name REGEXP 'n$' FROM customers",
        "SELECT DATE_SUB(placed, INTERVAL 1 DAY), TIMESTAMPDIFF(DAY, placed, NOW()), YEAR(placed) FROM orders",
        "SELECT IFNULL(name, 'x'), IF(id > 1, 'a', 'b'), CONCAT(name, '-', id) FROM customers",
        "SELECT id <=> NULL, id DIV 2, id MOD 2 FROM orders",
        "SELECT \"double quoted\" AS a, 'back\\\\slash' AS b, 'q\\'uote' AS c",
        "SELECT customer, SUM(amount) FROM orders GROUP BY customer WITH ROLLUP",
        "SELECT DATEDIFF(NOW(), placed), DAYNAME(placed) FROM orders LIMIT 1, 2",
        "SELECT STDDEV_POP(amount), VAR_SAMP(amount) FROM orders # the rest",
        "SELECT UTC_DATE(), UTC_TIMESTAMP(), ADDDATE(placed, 5), SUBDATE(placed, INTERVAL 1 DAY), BIN(id) FROM orders",
        "SELECT TIMESTAMPADD(HOUR, 5, placed), MEDIAN(amount) OVER (PARTITION BY customer) FROM orders",
        "SELECT CONVERT(name USING utf8mb4), JSON_VALUE(extra, '$.plan') FROM customers",
        "SELECT LOWER(HEX(name)), INET_NTOA(INET_ATON('10.0.0.1')) FROM customers",
        "SELECT id FROM orders WHERE customer = SOME (SELECT id FROM customers)",
        "SELECT c.id, j.* FROM customers c CROSS JOIN JSON_TABLE(c.extra, '$.tags[*]' COLUMNS "
        "(n FOR ORDINALITY, tag VARCHAR(20) PATH '$')) AS j",
        "SELECT j.* FROM JSON_TABLE('[{\"a\": 1, \"b\": [1, 2]}]', '$[*]' COLUMNS (a INT PATH '$.a' "
        "DEFAULT '0' ON EMPTY NULL ON ERROR, `x PATH y` INT EXISTS PATH '$.z', "
        "NESTED PATH '$.b[*]' COLUMNS (b INT PATH '$'))) AS j",
        "SELECT t.* FROM JSON_TABLE((SELECT JSON_ARRAYAGG(id) FROM orders), '$[*]' COLUMNS (id INT PATH '$')) t",
        "SELECT JSON_LENGTH(extra->'$.tags') FROM customers",
    ],
    "sqlite": [
        'SELECT "Weird; Col" FROM "Odd Name"',
        "SELECT [Weird; Col] FROM [Odd Name]",
        "SELECT strftime('%Y-%m', placed), total(amount) FROM orders GROUP BY 1",
        "SELECT json_extract(extra, '$.plan'), extra ->> '$.plan' FROM customers",
        "SELECT name, j.value FROM customers, json_each(customers.extra, '$.tags') AS j",
        "SELECT julianday(placed), date(placed, '+1 day'), typeof(amount) FROM orders",
        "SELECT name GLOB 'B*', instr(name, 'e'), printf('%05d', id) FROM customers",
        "SELECT count(*) FILTER (WHERE amount > 5), group_concat(id, ';') FROM orders",
        "SELECT lower(hex(name)) FROM customers",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION SELECT i + 1 FROM n WHERE i < 4 UNION SELECT i * 3 FROM n WHERE i < 4"
        ") SELECT * FROM n",
        "SELECT rowid, ifnull(name, 'x'), iif(id > 1, 'a', 'b') FROM customers",
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT json_array_length(extra -> '$.tags'), count(extra -> 'tags' -> 0) FROM customers",
    ],
    "duckdb": [
        *_lines(EVERYWHERE),
        'SELECT "Weird; Col" FROM "Odd Name"',
        "FROM orders SELECT id WHERE amount > 5",
        "FROM orders",
        "SELECT * EXCLUDE (amount) FROM orders",
        "SELECT COLUMNS('a.*') FROM orders",
        "SELECT date_trunc('month', placed), date_diff('day', placed, current_date) FROM orders",
        "SELECT list_transform([1, 2], x -> x + 1), {'a': 1}.a, [1, 2, 3][1:2]",
        "SELECT max_by(id, amount), median(amount), quantile_cont(amount, 0.9), histogram(customer) FROM orders",
        "SELECT id FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY amount DESC) = 1",
        "SELECT strftime(placed, '%Y-%m'), try_cast('x' AS INT), regexp_matches('abc', 'b') FROM orders",
        "SELECT unnest(range(3)), strptime('2024-01-02', '%Y-%m-%d')",
        "SELECT extra->>'$.plan' FROM customers",
        "SELECT customer, sum(amount) FROM orders GROUP BY ALL ORDER BY ALL",
        "SELECT * FROM orders USING SAMPLE 2",
        "SELECT list_position([1, 2], 2), list_reduce([1, 2], lambda a, b : a + b), element_at(MAP {'a': 1}, 'a')",
        "SELECT geomean(amount), bit_count(5), cardinality(MAP {'a': 1}), list_reverse([1, 2]) FROM orders",
        "SELECT list_intersect([1, 2], [2]), list_grade_up([2, 1]), ord('a'), divide(7, 2), octet_length('a'::blob)",
        "SELECT from_json('[1]', '[\"INTEGER\"]'), json_transform('{\"a\": 1}', '{\"a\": \"INTEGER\"}')",
        "SELECT strlen('x'), round_even(2.5, 0), julian(current_date), damerau_levenshtein('a', 'b')",
        "SELECT * FROM generate_series(1, 3) AS g(n)",
        "SELECT json_array_length(extra -> 'tags'), coalesce(extra ->> 'plan', 'x') FROM customers",
        "SELECT [x * 2 FOR x IN [1, 2, 3] IF x > 1], approx_top_k(customer, 2) FROM orders",
        "SUMMARIZE orders",
        "SUMMARIZE SELECT id, amount FROM orders",
        "WITH o AS (SELECT id FROM orders) SELECT column_name, max FROM (SUMMARIZE o)",
        "DESCRIBE orders",
        "SELECT column_name FROM (DESCRIBE SELECT * FROM orders)",
        "PIVOT orders ON customer IN (1, 2) USING sum(amount) AS s, count(*) AS n GROUP BY placed",
        "PIVOT (SELECT customer, '10:00:00+01'::TIMETZ AS u, amount FROM orders) ON customer IN (1) USING sum(amount)",
        "WITH o AS (SELECT customer, amount FROM orders) PIVOT o ON customer IN (1, 2) USING sum(amount)",
        "SELECT * FROM (PIVOT orders ON customer IN (1, 2) USING sum(amount) GROUP BY id) AS p ORDER BY id",
        "SELECT * FROM orders PIVOT (sum(amount) AS s FOR customer IN (1 AS a, 2 AS b) GROUP BY id)",
        "SELECT * FROM (SELECT id, customer FROM orders) UNPIVOT INCLUDE NULLS (v FOR n IN (id, customer)) AS u",
        "UNPIVOT orders ON COLUMNS(* EXCLUDE (placed, amount)) INTO NAME n VALUE v",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL (WITH m AS (SELECT i + 1 AS i FROM n) FROM m WHERE i < 5)) "
        "SELECT * FROM n",
    ],
}


MEANT: dict[str, list[str]] = {
    "postgres": [
        "SELECT interval '1 day 02:03:04' AS v",
        "SELECT timestamp '2024-05-07' + interval '1 month 3 days ago' AS v, interval '1 year ago' AS w",
        "SELECT date_trunc('hour', interval '2 days 3:04:05') AS v",
        "SELECT log10(1000::float8) AS v, log10(1000) AS w",
        """SELECT '{"a.b": 1, "a": {"b": 2}}'::jsonb ->> 'a.b' AS v""",
    ],
    "mysql": [
        r"""SELECT JSON_EXTRACT('{"a\\\\b": 1}', '$."a\\\\b"') AS v""",
        """SELECT JSON_EXTRACT('{"a.b": 1, "a": {"b": 2}}', '$."a.b"', '$.a.b') AS v""",
        "SELECT date '2024-05-07' + INTERVAL 1.5 DAY AS v, date_sub('2024-05-07 10:00', INTERVAL 2.5 HOUR) AS w",
        "SELECT date_add('2024-05-07', INTERVAL -1 MONTH) AS v, '2024-05-07 10:00' + INTERVAL 1 SECOND AS w",
        "SELECT 0x41 + 0 AS v, CAST(0x1F AS UNSIGNED) AS w, x'41' + 0 AS x, hex(0x41) AS y",
        "SELECT floor(log10(1000)) AS v, log2(8) AS w",
    ],
    "sqlite": [
        "SELECT floor(log10(1000)) AS v, log2(8) AS w, log10('2024-12-30') AS x",
        "SELECT mod(7.5, 2) AS v, mod(-7, 3) AS w",
        "SELECT CAST('9007199254740993' AS NUMERIC) AS v, CAST(5 AS DECIMAL(10, 2)) / 2 AS w",
        """SELECT '{" ": 1}' ->> ' ' AS v, '{"a.b": 1, "a": {"b": 2}}' ->> 'a.b' AS w""",
        'SELECT "Weird; Col" AS v FROM "Odd Name" ORDER BY "Weird; Col"',
    ],
    "duckdb": [
        "SELECT timestamp '2024-05-07' + interval '1 day 02:03:04' AS v",
        "SELECT timestamp '2024-05-07' + interval '1 year ago' AS v",
        """SELECT '{"a.b": 1, "a": {"b": 2}}'::json ->> 'a.b' AS v, '{"a": {"b": 2}}'::json ->> '$.a.b' AS w""",
        """SELECT '{"$x": 1, " ": 2}'::json ->> ' ' AS v""",
        "SELECT max(extra -> 'plan') AS v, list(extra -> 'tags' -> 0 ORDER BY id) AS w FROM customers",
        "SELECT column_name, max FROM (SUMMARIZE orders) ORDER BY column_name",
        "SELECT * FROM (PIVOT orders ON customer IN (1, 2) USING sum(amount) GROUP BY id) AS p ORDER BY id",
        "SELECT * FROM orders UNPIVOT INCLUDE NULLS (v FOR n IN (id AS a, customer AS b)) ORDER BY placed, n",
    ],
}
"""Statements that sqlglot would change on the way: what is sent must give what the statement itself gives."""
