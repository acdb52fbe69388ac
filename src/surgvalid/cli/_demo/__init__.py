"""The demo: a small challenge from simulated procedures to the report, with weaknesses that are known."""
