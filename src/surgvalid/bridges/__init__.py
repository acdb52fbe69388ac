"""Results for other tools and bundles for other platforms, one file each; what those store is read by `schema`."""

__all__ = [
    "checklists",
    "codabench",
    "grand_challenge",
    "harness_task",
    "hub",
    "inspect_ai",
    "mlflow",
    "osf",
    "r_folder",
    "wandb",
]
