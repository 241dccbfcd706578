"""Alembic migrations, applied by `Store.migrate()` from inside the package. One file a version, never changed later."""
