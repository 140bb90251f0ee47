"""Names of columns that both Spark and Hive's metastore hold."""

from __future__ import annotations

ODD_NAMES = (
    *("a b", "a-b", "a.b", "a,b", "a:b", "a;b", "a=b", "a<b", "a>b", "<a>", "a'b", 'a"b', "a\\b", "a\tb"),
    *("a(b)", "a/b", "a%b", "a#b", "a?b", "[a]", "1a", "123", "_a", ".a", "größe", "日本", "😀", " a", "a "),
    *("select", "x" * 700, "--", "/*", "$a", "@a", "col", "*", "key", "value", "s.b", "_metadata"),
)
