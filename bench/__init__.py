"""CPU-time ratios of surgvalid against its peers, measured side by side in one run."""
