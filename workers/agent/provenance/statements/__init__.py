"""Words beside a figure that the outputs contradict, although they show the figure. In doubt nothing is said."""
