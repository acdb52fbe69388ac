"""The five annotation stages: from what several people saw to instances and questions that can be trusted."""
