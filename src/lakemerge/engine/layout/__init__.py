"""How rows lie in files and partitions: formats, codecs, spellings, and how much there is of them."""
