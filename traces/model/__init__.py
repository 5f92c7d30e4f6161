"""LinkModel and LinkModels: netem's algorithm without a kernel, packet by packet; one link, and many at once."""
