"""Alembic's entry: runs the migrations on the connection, and in the transaction, that `database.py` passes in."""

from alembic import context

from core.store.tables import metadata

connection = context.config.attributes["connection"]
on_sqlite = connection.dialect.name == "sqlite"
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
if on_sqlite:
    # A table that is made again is unavailable for a moment. SQLite would refuse that for the views and triggers that
    # name it.
    connection.exec_driver_sql("PRAGMA legacy_alter_table = ON")
context.run_migrations()
if on_sqlite:
    connection.exec_driver_sql("PRAGMA legacy_alter_table = OFF")
