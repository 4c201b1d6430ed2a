"""The HTML report on a workspace: the funnel, distributions and examples."""
