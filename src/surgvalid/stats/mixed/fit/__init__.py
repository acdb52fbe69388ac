"""From a design to a fit: likelihoods, elimination of random effects, optimiser, penalties."""

__all__ = ()
