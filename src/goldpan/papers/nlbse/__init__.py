"""The tool competitions of NLBSE: issue types and code comments."""
