"""From ledgers to questions: templates, sampling, splits and the data card."""

__all__ = ["benchmark", "make", "release", "stages", "template"]
