"""Long videos on any engine: forms of answers, the plan, one pass that all questions share, two kinds of engines."""
