"""The steps of the FOCUS ranking, one file each; `surgvalid.stats.ranking.focus` puts them together."""
