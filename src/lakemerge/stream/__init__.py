"""Write records to a table of the append kind, in small atomic commits, without Spark.

::

    with lakemerge.stream.open("shop.alerts", kernel, format="delimited") as s:
        s.write(["1,disk full,Asia,India", "2,disk full,Asia,China"])
        s.commit()

Several streams may write to one table at once. What is not committed when the block ends is given up.
"""

from lakemerge.stream.records import FORMATS
from lakemerge.stream.stream import Stream, open

__all__ = ["FORMATS", "Stream", "open"]
