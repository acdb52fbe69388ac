"""Mixed models: formula and table -> design -> deviance -> optimiser -> inference, one file per step."""
