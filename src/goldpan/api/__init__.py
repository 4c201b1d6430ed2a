"""What `import goldpan` offers: the stages as methods of a workspace, datasets and evaluations."""
