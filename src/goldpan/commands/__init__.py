"""The commands: arguments in, one call a stage, output for people or machines."""
