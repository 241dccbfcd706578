"""Many workspaces: who has installed the app, with which token, and what they may reach (`docs/many-workspaces.md`)."""
