from goldpan.builders.row_origins import mined_source as mined_source
