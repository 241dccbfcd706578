"""The walls around a subprocess, one module a layer. `steps.py` is the list in which they go up; read it first."""
