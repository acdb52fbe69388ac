"""From ledgers to questions: templates, sampling, splits and the data card."""
