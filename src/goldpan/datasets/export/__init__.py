"""A dataset in the forms that other tools take: harnesses, and programs that fine-tune."""
