"""Alembic's entry: runs the migrations on the connection, and in the transaction, that `database.py` passes in."""

from alembic import context

from core.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
