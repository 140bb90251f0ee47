"""When a commit is followed by a compaction (``compaction: auto``): each number, and what it rests on.

Reads pay for what is not compacted, and a compaction writes bytes again. No option changes these numbers, see
docs/decisions/0049. They fit tables of any size: most are shares or counts.
"""

from __future__ import annotations

#: A partition is packed if the commit left it with this many files, and with ``SURPLUS`` times as many as its bytes
#: need. A merge leaves one file in each partition that it rewrites, so only other writes reach this. Of 13 MB of ORC on
#: two cores, a read takes 0.35 CPU seconds from one file, 0.60 from 50 and 1.04 from 100; to pack 50 takes 1.33, which
#: five reads make up for. Delta packs from 50 files on as well.
FILES = 50
#: So the files that are packed are a quarter full at most, on average, and what was packed is not packed again.
SURPLUS = 4

#: This many small partitions of commits, of one tier of sizes, become one. In `make soak-ingest`, 200 commits to two
#: shards were followed by 10 compactions, and the table had 46 files at most; without them, 400. A row is written again
#: once for each tier, of which three are below 128 MB.
PARTITIONS = 20

#: This many deltas become one, or move into the base. By `make bench-on-read`, a read of all rows then takes 3.1 times
#: as long as of a plain table, and 2.2 times at half the number. Hive compacts at 10, too.
DELTAS = 10
#: Deltas with this percentage of the base's bytes move into the base. With less, rewriting the partitions that they
#: touch could cost more than ten times what they hold. Hive's share is the same.
DELTAS_PERCENT = 10
#: Deltas of that share and of this many bytes do not wait until they are many. Smaller ones do: a small table's delta
#: is a tenth of it soon, and to start the jobs that move it costs more than to read it.
DELTAS_BYTES = 32 * 2**20

#: The default of `target_file_size`: the size of a block of HDFS, and of what a task of Spark reads.
FILE_BYTES = 128 * 2**20
