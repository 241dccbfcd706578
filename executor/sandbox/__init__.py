"""The sandbox around a subprocess, one module per layer. `steps.py` lists the layers in their order; read it first."""
