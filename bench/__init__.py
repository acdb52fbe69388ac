"""CPU-time ratios of surgeval against its peers, measured side by side in one run."""
