"""Two small repositories that ship with Goldpan: `goldpan demo` takes them through all stages."""
