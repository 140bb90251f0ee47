"""Write records to a table of the append kind, in small atomic commits, without Spark.

::

    with lakemerge.writer.open("shop.alerts", kernel, format="delimited") as s:
        s.write(["1,disk full,Asia,India", "2,disk full,Asia,China"])
        s.commit()

Several writers may write to one table at the same time. Records that are not committed when the block ends are
discarded.
"""

from lakemerge.writer.records import FORMATS
from lakemerge.writer.writer import Writer, open

__all__ = ["FORMATS", "Writer", "open"]
