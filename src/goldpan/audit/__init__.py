"""Whether rows of a dataset measure anything: findings with their evidence, kept in `audits/`."""
