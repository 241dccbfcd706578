"""Everything that answers: the turn, the analyst's loop, models, files, reports, and the service that runs them."""
