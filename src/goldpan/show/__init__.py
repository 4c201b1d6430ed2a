"""What people see on the terminal. Text from GitHub is printed, never interpreted."""
