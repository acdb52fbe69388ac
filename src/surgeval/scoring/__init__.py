"""From questions, answers and verdicts to the score table: profiles, lint, floors, differences."""
