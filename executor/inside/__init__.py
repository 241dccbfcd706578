"""What runs inside a subprocess, beside the cells themselves.

Nothing here is trusted by the host, and no secret is ever here.
"""
