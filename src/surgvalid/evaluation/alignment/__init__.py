"""Whether every prediction lies beside its own reference: looked at before any number is made.

A reading of the predictions is set beside others (a frame later, mirrored, under another class) video by video, because
the errors of one video are alike. An alternative is named only where it fits better by a stated gain, in nearly all
videos, and by more than chance (`evidence`). Nothing is changed; each finding names the option that mends it.
"""

__all__ = ["boxes"]
