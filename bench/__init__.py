"""Side-by-side measurements (`make bench`). No test depends on them; the goals are numbered P1 to P10."""
