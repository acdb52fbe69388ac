"""From ledgers to questions: templates, sampling, splits and the data card."""

__all__ = ["benchmark", "catalogue", "make", "object_recognition", "release", "sources", "stages", "template"]
