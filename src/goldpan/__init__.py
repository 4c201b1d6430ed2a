"""Goldpan turns GitHub history into curated, published, evaluated datasets.

    import goldpan

    ws = goldpan.Workspace("lab")
    ws.mine("numpy/numpy")
    ws.pair()
    ws.filter()
    data = ws.build("qa", split="random:0.8,0.1,0.1")
    data.to_pandas()

A name is imported when it is first used, so that importing Goldpan costs next to nothing; the stub
beside this file lists all.
"""

from goldpan.core.imports import lazily

__getattr__, __dir__ = lazily(globals())
