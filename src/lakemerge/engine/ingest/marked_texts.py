"""JSON values as texts, for Spark 3.5, which has no variants: their first character says what they are.

A record's text is marked before it is parsed: ``{"a":"x","b":5,"c":[true,null]}`` becomes
``{"a":"sx","b":"n5","c":["=true","=null"]}``. Spark then reads any object as a map of texts and any array as texts,
each of which is a string (``s``), a number as it is written (``n``), a boolean or null (``=``), an object (``{``) or
an array (``[``). Names stay as they are. A string or name that holds half of a character (a lone surrogate), which no
text can keep, becomes the record's MD5 sum, which no record holds; so it does on Spark 4, where the variants of 4.0 and
4.1 would hold a question mark.

The patterns here hold for the text of one JSON value, which a parser has accepted. Each is possessive throughout, so
that Java neither backtracks nor recurses, however long the text is.
"""

from __future__ import annotations

_STRING = r"[^\"\\]*+(?:\\.[^\"\\]*+)*+"
_WHOLE = r"[^\"\\]*+(?:\\(?:[^u]|u(?![dD][89a-fA-F])....|u[dD][89abAB]..\\u[dD][c-fC-F]..)[^\"\\]*+)*+"
#: A string that is no name, but for its first quote, as group 2; what precedes it, names included, as group 1.
STRING_VALUE = rf'\G((?:[^"]*+"{_STRING}"\s*+:)*+[^"]*+)"({_STRING}")'
#: A boolean or null as group 2; what precedes it, strings included, as group 1.
LITERAL = rf'\G([^"tfn]*+(?:"{_STRING}"[^"tfn]*+)*+)(true|false|null)'
#: A string or name with half of a character; what precedes it as group 1.
HALF = rf'\G((?:[^"]*+"{_WHOLE}")*+[^"]*+)"{_STRING}"'
#: The escape of half of a character, of which two may make a whole one.
HALF_ESCAPE = r"\\u[dD][89a-fA-F]"
#: An object that holds no other one, where no value is a string.
INNERMOST = rf'\{{(?:[^{{}}"]++|"{_STRING}")*+\}}'
#: A name in such an object, as group 1.
NAME = rf'"({_STRING})":'
