"""Episode: one seeded episode of a lab spec, played on a kernel, a relay or the model, and compared."""
