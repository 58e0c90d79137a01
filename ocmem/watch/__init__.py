"""File events -> a schedule of what is due -> sync. Time is always an argument."""
