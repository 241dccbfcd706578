"""Tools for cells: `from threadbook_tools import decompose_change, ab_test_rates, Repository`.

Each function takes plain pandas objects and returns a table (DataFrame) or a mapping of named numbers (Series), which
print well. None of them guesses: what cannot be computed raises ValueError with what to do about it. `Repository` is
for source code instead of data.

| module | functions |
| --- | --- |
| `change` | `decompose_change`, `decompose_rate`, `contribution` |
| `series` | `trend`, `season`, `anomalies` |
| `relation` | `correlation` |
| `people` | `cohorts`, `funnel` |
| `experiment` | `ab_test_rates`, `ab_test_means`, `sample_size_rates` |
| `repository` | `Repository`; it stands on `archives`, `bundles`, `outlines`, `patches`, `suites`, `trials` alone |

The modules need pandas and numpy, `series`, `relation`, `people` and `experiment` also scipy. A notebook that uses one
function carries the source of its module, and of those that it imports from here.
"""

from threadbook_tools.change import contribution, decompose_change, decompose_rate
from threadbook_tools.experiment import ab_test_means, ab_test_rates, sample_size_rates
from threadbook_tools.people import cohorts, funnel
from threadbook_tools.relation import correlation
from threadbook_tools.repository import Repository
from threadbook_tools.series import anomalies, season, trend

__all__ = [
    "Repository",
    "ab_test_means",
    "ab_test_rates",
    "anomalies",
    "cohorts",
    "contribution",
    "correlation",
    "decompose_change",
    "decompose_rate",
    "funnel",
    "sample_size_rates",
    "season",
    "trend",
]
