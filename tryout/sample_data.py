"""Where the sample data is: in `examples/` of a checkout, or beside this module in an installed wheel."""

from pathlib import Path

_BESIDE = Path(__file__).parent / "examples"  # setup.py puts it there
EXAMPLES = _BESIDE if _BESIDE.is_dir() else _BESIDE.parents[1] / "examples"
