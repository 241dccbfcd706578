"""Figures that follow from facts by one step: differences, ratios, shares, totals, sums of spans."""
