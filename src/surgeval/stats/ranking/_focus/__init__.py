"""The steps of the FOCUS ranking, one file each; `surgeval.stats.ranking.focus` puts them together."""
