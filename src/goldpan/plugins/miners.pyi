from goldpan.miners.gharchive.store import ArchiveStore as ArchiveStore
