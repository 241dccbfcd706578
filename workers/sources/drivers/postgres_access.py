"""What a Postgres login may do beyond reading, as SQL; and the SQL that makes a login which can only read."""

from __future__ import annotations

WRITES = """
WITH roles AS (
  SELECT r.oid, r.rolname, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication
  FROM pg_catalog.pg_roles r WHERE pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER')
), tables AS (
  SELECT c.oid, c.relkind, n.nspname || '.' || c.relname AS shown
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'f', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
)
SELECT 'it is a superuser' WHERE EXISTS (SELECT FROM roles WHERE rolsuper)
UNION ALL SELECT 'it may create roles, databases or replicas'
  WHERE EXISTS (SELECT FROM roles WHERE rolcreaterole OR rolcreatedb OR rolreplication)
UNION ALL SELECT 'it may read or write files of the server, run its programs or end others'' statements'
  WHERE EXISTS (SELECT FROM roles WHERE rolname IN ('pg_read_server_files', 'pg_write_server_files',
    'pg_execute_server_program', 'pg_write_all_data', 'pg_signal_backend', 'pg_maintain', 'pg_checkpoint'))
UNION ALL SELECT 'it may create schemas in the database'
  WHERE EXISTS (SELECT FROM roles r, pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()
    AND pg_catalog.has_database_privilege(r.oid, d.oid, 'CREATE'))
UNION ALL SELECT 'it may create tables in the schema ' || pg_catalog.min(n.nspname)
  FROM roles r, pg_catalog.pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE') HAVING pg_catalog.count(*) > 0
UNION ALL SELECT 'it may change ' || pg_catalog.count(DISTINCT t.oid) || ' tables, such as ' || pg_catalog.min(t.shown)
  FROM roles r, tables t WHERE t.relkind <> 'S'
    AND (pg_catalog.has_table_privilege(r.oid, t.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
      OR pg_catalog.has_any_column_privilege(r.oid, t.oid, 'INSERT, UPDATE')) HAVING pg_catalog.count(*) > 0
UNION ALL SELECT 'it may move the sequence ' || pg_catalog.min(t.shown) FROM roles r, tables t WHERE t.relkind = 'S'
    AND CASE WHEN t.relkind = 'S' THEN pg_catalog.has_sequence_privilege(r.oid, t.oid, 'USAGE, UPDATE') END
    HAVING pg_catalog.count(*) > 0
"""
"""One sentence per right. Roles that the login could take count too, because a statement could take them."""

MEND = """\
CREATE ROLE threadbook_reader LOGIN PASSWORD '…';  -- a login that can only read; put it into the source's URL
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE {database} TO threadbook_reader;
GRANT USAGE ON SCHEMA public TO threadbook_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO threadbook_reader;
"""
