"""Make of a right query wrong ones of the kinds that models write; each is made on its tree, so it stays a query a model could have written.

Whether one is wrong indeed is not said here but found by running it: some slips do no harm.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlglot
from sqlglot import exp

_SQLITE = "sqlite"


class Kind(StrEnum):
    """What went wrong in a query."""

    WRONG_JOIN = "wrong join"
    CARTESIAN_JOIN = "join without condition"
    COPIED_LITERAL = "literal of another episode"
    COPIED_DATE = "date or number of another episode"
    MISSPELT_LITERAL = "mis-spelt literal"
    MISSING_FILTER = "missing filter"
    SWAPPED_COMPARISON = "swapped comparison"
    NULL_COMPARED = "NULL compared with ="
    WRONG_AGGREGATE = "wrong aggregate"
    WRONG_COLUMN = "wrong column"
    WRONG_ORDER = "wrong order"
    WRONG_LIMIT = "wrong limit"
    MISSING_DISTINCT = "missing DISTINCT"
    UNKNOWN_COLUMN = "column that does not exist"
    UNKNOWN_TABLE = "table that does not exist"
    BROKEN_SYNTAX = "broken syntax"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a slip may draw on.

    Attributes:
        columns: Of each table.
        literals: (`table.column`, literal) of all questions: what episodes on other questions filtered on.
    """

    columns: Mapping[str, Sequence[str]]
    literals: Sequence[tuple[str, str]]


Slip = Callable[[exp.Expression, Surroundings, random.Random], exp.Expression | str | None]


def list_literals(queries: Sequence[str]) -> list[tuple[str, str]]:
    """List the (`table.column`, literal) pairs that queries filter on, each once."""
    found: dict[tuple[str, str], None] = {}
    for query in queries:
        for column, literal in _iter_filters(_parse(query)):
            found.setdefault((column, str(literal.this)))
    return list(found)


def iter_wrong(query: str, around: Surroundings, *, seed: int) -> Iterator[tuple[Kind, str]]:
    """Yield a query for each kind of slip that this query has room for; the same seed gives the same ones."""
    for kind, slip in SLIPS.items():
        made = slip(_parse(query), around, random.Random(f"{seed}:{kind}:{query}"))  # which slip, not a secret
        text = made.sql(_SQLITE) if isinstance(made, exp.Expression) else made
        if text is not None and text != _parse(query).sql(_SQLITE):
            yield kind, text


def restyle(query: str) -> str:
    """Write a right query as another model would: the same, its comparisons turned round and its names in small letters."""
    tree = _parse(query)
    for equal in list(tree.find_all(exp.EQ)):
        equal.replace(exp.EQ(this=equal.expression.copy(), expression=equal.this.copy()))
    for name in tree.find_all(exp.Identifier):
        name.set("this", name.name.lower())
    return tree.sql(_SQLITE)


def _parse(query: str) -> exp.Expression:
    tree = sqlglot.parse_one(query, dialect=_SQLITE)
    assert isinstance(tree, exp.Expression)
    return tree


def _pick(random_: random.Random, nodes: Iterator[exp.Expression] | Sequence[exp.Expression]) -> exp.Expression | None:
    listed = list(nodes)
    return random_.choice(listed) if listed else None


def _iter_filters(tree: exp.Expression) -> Iterator[tuple[str, exp.Literal]]:
    """Yield the literals that something is compared with, beside the `table.column` they stand against."""
    for comparison in tree.find_all(exp.EQ, exp.NEQ, exp.In, exp.Like, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between):
        column = comparison.find(exp.Column)
        for literal in comparison.find_all(exp.Literal):
            if column is not None and literal.find_ancestor(exp.TimeToStr, exp.Anonymous) is None:
                yield f"{_find_table(tree, column)}.{column.name}", literal


def _is_entity(literal: exp.Literal) -> bool:
    return literal.is_string and not re.search(r"\d{4}|^\d+$|%[Ymd]", str(literal.this))


def _wrong_join(tree: exp.Expression, around: Surroundings, random_: random.Random) -> exp.Expression | None:
    """Join on another key of the same table."""
    join = _pick(random_, [one for one in tree.find_all(exp.Join) if one.args.get("on") is not None])
    column = None if join is None else _pick(random_, join.args["on"].find_all(exp.Column))
    if not isinstance(column, exp.Column):
        return None
    keys = [name for name in _columns_of(tree, column, around) if name.endswith("Id") and name != column.name]
    if not keys:
        return None
    column.set("this", exp.to_identifier(random_.choice(keys)))
    return tree


def _cartesian_join(tree: exp.Expression, _: Surroundings, random_: random.Random) -> exp.Expression | None:
    join = _pick(random_, [one for one in tree.find_all(exp.Join) if one.args.get("on") is not None and not one.side])
    if join is None:
        return None
    join.set("on", None)
    join.set("kind", "CROSS")
    return tree


def _copy(tree: exp.Expression, around: Surroundings, random_: random.Random, *, is_entity: bool) -> exp.Expression | None:
    """Take the literal from an episode on another question about the same column."""
    filters = [(column, one) for column, one in _iter_filters(tree) if _is_entity(one) == is_entity]
    random_.shuffle(filters)
    for column, literal in filters:
        others = [
            text
            for name, text in around.literals
            if name == column and text != literal.this and _is_alike(text, str(literal.this))
        ]
        if others:
            literal.set("this", random_.choice(others))
            return tree
    return None


def _is_alike(one: str, other: str) -> bool:
    """Tell whether two literals have one form: a date for a date, a pattern for a pattern."""
    return re.sub(r"\d", "0", one)[:10] == re.sub(r"\d", "0", other)[:10] or not re.search(r"[%\d]", one + other)


def _copied_literal(tree: exp.Expression, around: Surroundings, random_: random.Random) -> exp.Expression | None:
    return _copy(tree, around, random_, is_entity=True)


def _copied_date(tree: exp.Expression, around: Surroundings, random_: random.Random) -> exp.Expression | None:
    return _copy(tree, around, random_, is_entity=False)


def _misspelt_literal(tree: exp.Expression, _: Surroundings, random_: random.Random) -> exp.Expression | None:
    """Lose a letter, double one, or write the name without a capital."""
    literal = _pick(random_, [one for _, one in _iter_filters(tree) if _is_entity(one) and len(str(one.this)) > 3])
    if literal is None:
        return None
    text = str(literal.this)
    place = random_.randrange(1, len(text) - 1)
    lost, doubled = text[:place] + text[place + 1 :], text[: place + 1] + text[place:]
    literal.set("this", random_.choice([lost, doubled, text.lower() if text.lower() != text else lost]))
    return tree


def _missing_filter(tree: exp.Expression, _: Surroundings, random_: random.Random) -> exp.Expression | None:
    """Forget a condition of WHERE or HAVING."""
    clause = _pick(random_, tree.find_all(exp.Where, exp.Having))
    if clause is None:
        return None
    conjunction = _pick(random_, clause.find_all(exp.And))
    if conjunction is None:
        clause.pop()
    else:
        conjunction.replace(random_.choice([conjunction.this, conjunction.expression]).copy())
    return tree


_SWAPS: Mapping[type[exp.Expression], type[exp.Expression]] = {
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
    exp.NEQ: exp.EQ,
}


def _swapped_comparison(tree: exp.Expression, _: Surroundings, random_: random.Random) -> exp.Expression | None:
    node = _pick(random_, tree.find_all(*_SWAPS))
    if node is None:
        return None
    node.replace(_SWAPS[type(node)](this=node.this.copy(), expression=node.expression.copy()))
    return tree


def _null_compared(tree: exp.Expression, _: Surroundings, random_: random.Random) -> exp.Expression | None:
    node = _pick(random_, [one for one in tree.find_all(exp.Is) if isinstance(one.expression, exp.Null)])
    if node is None:
        return None
    node.replace(exp.EQ(this=node.this.copy(), expression=exp.Null()))
    return tree


_OTHER_AGGREGATES: Mapping[type[exp.Expression], Sequence[type[exp.Expression]]] = {
    exp.Sum: (exp.Avg, exp.Count, exp.Max),
    exp.Avg: (exp.Sum, exp.Max),
    exp.Max: (exp.Min, exp.Avg),
    exp.Min: (exp.Max, exp.Avg),
}


def _wrong_aggregate(tree: exp.Expression, around: Surroundings, random_: random.Random) -> exp.Expression | None:
    """Take another function, or count distinct values where rows are meant."""
    node = _pick(random_, tree.find_all(*_OTHER_AGGREGATES, exp.Count))
    if node is None:
        return None
    if isinstance(node, exp.Count):
        table = tree.find(exp.Table)
        column = random_.choice(around.columns.get(table.name if table else "", ["Name"]))
        distinct = exp.Distinct(expressions=[exp.column(column, table.alias_or_name if table else None)])
        is_distinct = isinstance(node.this, exp.Distinct)
        node.set("this", exp.Star() if is_distinct else distinct)
    else:
        node.replace(random_.choice(_OTHER_AGGREGATES[type(node)])(this=node.this.copy()))
    return tree


def _wrong_column(tree: exp.Expression, around: Surroundings, random_: random.Random) -> exp.Expression | None:
    """Show or compare another column of the same table."""
    column = _pick(random_, [one for one in tree.find_all(exp.Column) if one.find_ancestor(exp.Join) is None])
    if not isinstance(column, exp.Column):
        return None
    others = [name for name in _columns_of(tree, column, around) if name != column.name]
    if not others:
        return None
    column.set("this", exp.to_identifier(random_.choice(others)))
    return tree


def _wrong_order(tree: exp.Expression, _: Surroundings, random_: random.Random) -> exp.Expression | None:
    node = _pick(random_, tree.find_all(exp.Ordered))
    if node is None:
        return None
    node.set("desc", not node.args.get("desc"))
    node.set("nulls_first", None)
    return tree


def _wrong_limit(tree: exp.Expression, _: Surroundings, random_: random.Random) -> exp.Expression | None:
    node = _pick(random_, tree.find_all(exp.Limit))
    if node is None:
        return None
    number = int(str(node.expression.this))
    node.set("expression", exp.Literal.number(random_.choice([number + 1, number * 10])))
    return tree


def _missing_distinct(tree: exp.Expression, _: Surroundings, __: random.Random) -> exp.Expression | None:
    select = next((one for one in tree.find_all(exp.Select) if one.args.get("distinct")), None)
    if select is None:
        return None
    select.set("distinct", None)
    return tree


def _unknown_column(tree: exp.Expression, _: Surroundings, random_: random.Random) -> exp.Expression | None:
    """Name a column as another schema would."""
    column = _pick(random_, tree.find_all(exp.Column))
    if column is None:
        return None
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", column.name).lower()
    table = column.args["table"].name if column.args.get("table") else "row"
    column.set("this", exp.to_identifier(snake if "_" in snake else f"{table}_{snake}"))
    return tree


def _unknown_table(tree: exp.Expression, _: Surroundings, random_: random.Random) -> exp.Expression | None:
    table = _pick(random_, tree.find_all(exp.Table))
    if table is None:
        return None
    table.set("this", exp.to_identifier(f"{table.name}s"))
    return tree


def _broken_syntax(tree: exp.Expression, _: Surroundings, random_: random.Random) -> str | None:
    """Lose a bracket, a quote or a word, or leave a comma too many."""
    text = tree.sql(_SQLITE)
    breaks = [text.replace(" FROM ", ", FROM ", 1), text.replace("SELECT ", "SELECT SELECT ", 1), f"{text} AND"]
    if ")" in text:
        breaks.append(text[::-1].replace(")", "", 1)[::-1])
    if "'" in text:
        breaks.append(text[::-1].replace("'", "", 1)[::-1])
    return random_.choice(breaks)


def _columns_of(tree: exp.Expression, column: exp.Column, around: Surroundings) -> Sequence[str]:
    """Give the columns of the table that a column belongs to."""
    return around.columns.get(_find_table(tree, column), ())


def _find_table(tree: exp.Expression, column: exp.Column) -> str:
    """Give a column's table, by its name or alias, else the first table; empty for none."""
    tables = {table.alias_or_name: table.name for table in tree.find_all(exp.Table)}
    return (tables.get(column.table) if column.table else next(iter(tables.values()), None)) or ""


SLIPS: Mapping[Kind, Slip] = {
    Kind.WRONG_JOIN: _wrong_join,
    Kind.CARTESIAN_JOIN: _cartesian_join,
    Kind.COPIED_LITERAL: _copied_literal,
    Kind.COPIED_DATE: _copied_date,
    Kind.MISSPELT_LITERAL: _misspelt_literal,
    Kind.MISSING_FILTER: _missing_filter,
    Kind.SWAPPED_COMPARISON: _swapped_comparison,
    Kind.NULL_COMPARED: _null_compared,
    Kind.WRONG_AGGREGATE: _wrong_aggregate,
    Kind.WRONG_COLUMN: _wrong_column,
    Kind.WRONG_ORDER: _wrong_order,
    Kind.WRONG_LIMIT: _wrong_limit,
    Kind.MISSING_DISTINCT: _missing_distinct,
    Kind.UNKNOWN_COLUMN: _unknown_column,
    Kind.UNKNOWN_TABLE: _unknown_table,
    Kind.BROKEN_SYNTAX: _broken_syntax,
}
