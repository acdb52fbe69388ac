"""Which interval a value has, and how it is made.

The map: what is asked, the function that answers, and the interval it gives.

| asked | function | interval |
|---|---|---|
| the value of every model in a table | `interval.interval` | `engine.auto_spread`, or `replicates.bounds` by name |
| the value of one metric on cases | `interval.metric_interval` | the same |
| several values of prepared cases (evaluate, score) | `interval.prepared_spread` | the same |
| a mean, sums per video at hand | `video_jackknife.mean_interval` | t, one video left out at a time, logit scale |
| any value, its values without each video at hand | `video_jackknife.jackknife_interval` | the same |
| a mean over classes or buckets | `macro_interval.macro_spread` | class by class, Welch's degrees of freedom |
| a quantile of all rows | `pooled_quantile.pooled_quantile_interval` | every value that sign flips do not reject |
| a difference of two models | `engine.auto_difference` (`compare`) | the same, for differences |
| differences, sums per video at hand | `sign_flip_interval.difference_interval` | the same |
| a stratum against the others | `comparing.contrasts` (`strata`) | t, both sides without each video |
| two sides over the classes of both | `comparing.class_contrasts.balanced_gap` | t, the smaller degrees of freedom |
| a share of independent cases | `proportions.share` | Clopper and Pearson, exact |
| anything, by resampling whole videos | `method="bootstrap"`: `replicates` | percentiles |

`engine` chooses for `method="auto"`, which draws nothing; `few_videos` words what must be said of the result;
`dependence` says how much rows of one video depend on each other.
"""

__all__ = [
    "dependence",
    "engine",
    "few_videos",
    "interval",
    "interval_settings",
    "macro_interval",
    "pooled",
    "proportions",
    "replicates",
    "sign_flip_interval",
    "slices",
    "statistic",
    "video_jackknife",
]
