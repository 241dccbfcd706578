"""What the janitor clears away: old sessions, purged threads, approvals that waited too long, left files."""
