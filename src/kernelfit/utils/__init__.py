"""What every layer may use: validation and compatibility."""
