"""What persons see."""
