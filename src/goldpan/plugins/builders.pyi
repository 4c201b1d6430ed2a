from goldpan.builders.repository_rows import mined_source as mined_source
