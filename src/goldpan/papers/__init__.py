"""Papers that Goldpan reproduces, each a user of the door in `goldpan.plugins`."""
