"""Conformance: what a link delivered against what was asked of it, with bounds computed from n."""
