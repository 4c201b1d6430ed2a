"""A small repository that ships with Goldpan: `goldpan demo` takes it through all stages."""
