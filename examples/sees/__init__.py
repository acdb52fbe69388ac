"""A small vision-language model that learns to see from simulated procedures, and takes part in a challenge."""
