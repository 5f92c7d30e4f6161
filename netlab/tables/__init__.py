"""Tables: many scores and comparisons at once, as pages; the roof's."""
