"""The processes of a node as the supervisor sees them: started, watched, started again, stopped."""
