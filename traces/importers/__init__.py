"""Importers: measurements in the formats people have, as traces; one file a format."""
