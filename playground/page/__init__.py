"""The web page: server-rendered, with one small script of its own for live updates."""
