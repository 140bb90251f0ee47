"""Types that hold other types: the fields of structs are matched by name, as columns are, at every depth.

Spark's own cast matches them by place: a struct whose fields come in another order would exchange its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from lakemerge.engine.sql_text import literal, quote

#: Gets two simple types and says what is wrong with storing the first in the second; ``None`` for nothing.
Misfit = Callable[[DataType, DataType], "str | None"]
#: Gets SQL of a value and its type, and returns SQL to use in its place; ``None`` for the value, or what is inside it.
Rewrite = Callable[[str, DataType], "str | None"]
#: Gets the stored and the offered type of what both have, and returns the type that it will have.
Choice = Callable[[DataType, DataType], DataType]


def field_of(kind: StructType, name: str) -> StructField | None:
    """A struct's field of a name, in any case."""
    return next((field for field in kind.fields if field.name.lower() == name.lower()), None)


@dataclass(frozen=True)
class Pair:
    """What two nested types have in one place, and neither nests in the way of the other there.

    Attributes:
        path: of the value, such as ``address``; its fields are ``address.city``, and the parts of arrays and maps
            ``element``, ``key`` and ``value``.
        source, target: the types; ``None`` where a struct lacks the field.
        in_key: whether it is inside the keys of a map.
    """

    path: str
    source: DataType | None
    target: DataType | None
    in_key: bool = False


def pairs(source: DataType, target: DataType, path: str = "", in_key: bool = False) -> Iterator[Pair]:
    """Walk two types together: what has no parts in both of them, and the fields that only one of them has."""
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        yield from pairs(source.elementType, target.elementType, f"{path}.element", in_key)
    elif isinstance(source, MapType) and isinstance(target, MapType):
        yield from pairs(source.keyType, target.keyType, f"{path}.key", True)
        yield from pairs(source.valueType, target.valueType, f"{path}.value", in_key)
    elif isinstance(source, StructType) and isinstance(target, StructType):
        for field in source.fields:
            if (match := field_of(target, field.name)) is None:
                yield Pair(f"{path}.{field.name}", field.dataType, None, in_key)
            else:
                yield from pairs(field.dataType, match.dataType, f"{path}.{field.name}", in_key)
        for field in target.fields:
            if field_of(source, field.name) is None:
                yield Pair(f"{path}.{field.name}", None, field.dataType, in_key)
    else:
        yield Pair(path, source, target, in_key)


def same_type(one: DataType, other: DataType) -> bool:
    """Whether two types differ at most in the order of fields, and in the case of their names."""
    return all(
        pair.source and pair.target and pair.source.simpleString() == pair.target.simpleString()
        for pair in pairs(one, other)
    )


def rewritten(value: str, kind: DataType, rewrite: Rewrite) -> str:
    """SQL of a value with others in the place of what is inside it, at any depth; the value itself if nothing changes.

    Args:
        value: SQL of a value of the type ``kind``.
    """
    if (found := rewrite(value, kind)) is not None:
        return found
    if isinstance(kind, ArrayType):
        item = rewritten("item", kind.elementType, rewrite)
        return value if item == "item" else f"transform({value}, item -> {item})"
    if isinstance(kind, MapType):
        key, item = rewritten("name", kind.keyType, rewrite), rewritten("value", kind.valueType, rewrite)
        if key != "name":
            value = f"transform_keys({value}, (name, value) -> {key})"
        return value if item == "value" else f"transform_values({value}, (name, value) -> {item})"
    if isinstance(kind, StructType):
        parts = {field.name: f"{value}.{quote(field.name)}" for field in kind.fields}
        inside = {field.name: rewritten(parts[field.name], field.dataType, rewrite) for field in kind.fields}
        members = ", ".join(f"{sql} as {quote(name)}" for name, sql in inside.items())
        return value if inside == parts else f"if({value} is null, null, struct({members}))"
    return value


def cast_by_name(value: str, source: DataType, target: DataType) -> str:
    """SQL that gives a value another type; fields that the source lacks become null, those that the target lacks go.

    Args:
        value: SQL of a value of the type ``source``.
    """
    if _same_places(source, target):
        return f"cast({value} as {target.simpleString()})"
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        item = cast_by_name("item", source.elementType, target.elementType)
        return f"transform({value}, item -> {item})"
    if isinstance(source, MapType) and isinstance(target, MapType):
        # named after the lambda's own argument, because the field of an entry that is called `key` may be one of a key
        key = cast_by_name("entry['key']", source.keyType, target.keyType)
        item = cast_by_name("entry['value']", source.valueType, target.valueType)
        return f"map_from_entries(transform(map_entries({value}), entry -> struct({key}, {item})))"
    if isinstance(source, StructType) and isinstance(target, StructType):
        members = []
        for field in target.fields:
            match = field_of(source, field.name)
            found = (
                f"cast(null as {field.dataType.simpleString()})"
                if match is None
                else cast_by_name(f"{value}[{literal(match.name)}]", match.dataType, field.dataType)
            )
            members.append(f"{literal(field.name)}, {found}")
        return f"if({value} is null, null, named_struct({', '.join(members)}))"
    return f"cast({value} as {target.simpleString()})"


def _same_places(source: DataType, target: DataType) -> bool:
    """Whether every struct in both has the same fields at the same places."""
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _same_places(source.elementType, target.elementType)
    if isinstance(source, MapType) and isinstance(target, MapType):
        keys = _same_places(source.keyType, target.keyType)
        return keys and _same_places(source.valueType, target.valueType)
    if isinstance(source, StructType) and isinstance(target, StructType):
        return len(source.fields) == len(target.fields) and all(
            one.name.lower() == other.name.lower() and _same_places(one.dataType, other.dataType)
            for one, other in zip(source.fields, target.fields, strict=True)
        )
    return True


def misfits(
    source: DataType, target: DataType, path: str, misfit: Misfit, *, may_add: bool = False
) -> Iterator[str]:
    """Why not every value of a type can be stored in another one: each as a path and what is wrong there.

    Args:
        path: see :class:`Pair`.
        may_add: whether the target may have fields that the source lacks.
    """
    for pair in pairs(source, target, path):
        if pair.target is None:
            assert pair.source is not None
            yield f"{pair.path}: a new field, {pair.source.simpleString()}"
        elif pair.source is None:
            if not may_add:
                yield f"{pair.path}: missing, {pair.target.simpleString()} in the table"
        elif (problem := misfit(pair.source, pair.target)) is not None:
            yield f"{pair.path}: {problem}"


def evolved(
    stored: DataType, offered: DataType, choose: Choice, *, adds: bool = False, drops: bool = False
) -> DataType:
    """The type of a column after a write: the stored fields in their order and case, then the new ones.

    Args:
        choose: decides about what both have and what has no fields itself.
        adds: whether fields that only the offered type has are added.
        drops: whether fields that only the stored type has are dropped.
    """

    def inner(one: DataType, other: DataType) -> DataType:
        return evolved(one, other, choose, adds=adds, drops=drops)

    if isinstance(stored, ArrayType) and isinstance(offered, ArrayType):
        return ArrayType(inner(stored.elementType, offered.elementType))
    if isinstance(stored, MapType) and isinstance(offered, MapType):
        return MapType(inner(stored.keyType, offered.keyType), inner(stored.valueType, offered.valueType))
    if isinstance(stored, StructType) and isinstance(offered, StructType):
        fields = []
        for field in stored.fields:
            match = field_of(offered, field.name)
            if match is not None:
                fields.append(StructField(field.name, inner(field.dataType, match.dataType)))
            elif not drops:
                fields.append(field)
        if adds:
            fields += [field for field in offered.fields if field_of(stored, field.name) is None]
        return StructType(fields)
    return choose(stored, offered)


def simple_casts(source: DataType, target: DataType, path: str) -> Iterator[tuple[str, DataType, DataType]]:
    """The pairs of types that :func:`cast_by_name` leaves to Spark, each with the path to its values."""
    for pair in pairs(source, target, path):
        if pair.source and pair.target and pair.source != pair.target:
            yield pair.path, pair.source, pair.target


def lost_value(value: str, source: DataType, target: DataType, loses: Callable[[str, DataType], str]) -> str:
    """SQL that is true where a value, or one inside it, is lost by :func:`cast_by_name`; fields that go do not count.

    Args:
        loses: SQL that is true where the value of some SQL is lost by a cast to a simple type.
    """
    if same_type(source, target):
        return "false"
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _any("item", value, lost_value("item", source.elementType, target.elementType, loses))
    if isinstance(source, MapType) and isinstance(target, MapType):
        key = lost_value("entry['key']", source.keyType, target.keyType, loses)
        item = lost_value("entry['value']", source.valueType, target.valueType, loses)
        return _any("entry", f"map_entries({value})", f"{key} or {item}")
    if isinstance(source, StructType) and isinstance(target, StructType):
        pairs = ((field, field_of(target, field.name)) for field in source.fields)
        found = [
            lost_value(f"{value}[{literal(field.name)}]", field.dataType, match.dataType, loses)
            for field, match in pairs
            if match is not None
        ]
        return f"({' or '.join(found)})" if found else "false"
    return f"({loses(value, target)})"


def _any(name: str, values: str, lost: str) -> str:
    return f"coalesce(exists({values}, {name} -> {lost}), false)"


def loses_map_keys(source: DataType, target: DataType) -> bool:
    """Whether keys of a map lose a field, so that two of them may become the same."""
    return any(pair.in_key and pair.target is None for pair in pairs(source, target))
