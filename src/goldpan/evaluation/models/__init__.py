"""The models that `goldpan evaluate run --model NAME` knows, each in a file of its own."""
