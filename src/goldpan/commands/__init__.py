"""The commands of the program: methods of a workspace, of which cyclopts makes a command line."""
