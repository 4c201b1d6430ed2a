"""The models that `goldpan evaluate run --model NAME` knows, a family a file."""
