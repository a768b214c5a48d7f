"""Tokenizer of SQL that splits as SQLite does."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

TokenKind = Literal["text", "double", "name", "parameter", "number", "word", "sign"]

_TOKENS = re.compile(
    r"""(?P<space>[ \t\n\r]+|--[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<blob>[xX]'[^']*')
      | (?P<text>'(?:[^']|'')*')
      | (?P<double>"(?:[^"]|"")*")
      | (?P<name>`(?:[^`]|``)*`|\[[^\]]*\])
      | (?P<parameter>\?[0-9]*|[:@$\#][\w$]+)
      | (?P<number>[0-9][\w.]*|\.[0-9]\w*)
      | (?P<word>[^\x00-\x40\x5b-\x5e\x60\x7b-\x7f](?:[\w$]|[^\x00-\x7f])*)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token. `text` is in lower case, without quotes around text or names."""

    kind: TokenKind
    text: str


OPEN, CLOSE, COMMA, POINT, SEMICOLON = (Token("sign", sign) for sign in "(),.;")
AS = Token("word", "as")


def tokenize(sql: str) -> list[Token]:
    """Return the tokens of a statement, without spaces and comments. Any text has tokens; SQLite reports errors."""
    found = []
    for match in _TOKENS.finditer(sql):
        text = match[0].lower()
        match match.lastgroup:
            case "space":
                pass
            case "text":
                found.append(Token("text", text[1:-1].replace("''", "'")))
            case "double":
                found.append(Token("double", text[1:-1].replace('""', '"')))
            case "name":
                found.append(Token("name", text[1:-1].replace("``", "`")))
            case "parameter":
                found.append(Token("parameter", text))
            case "word":
                found.append(Token("word", text))
            case "number" | "blob":
                found.append(Token("number", text))
            case _:
                found.append(Token("sign", text))
    return found
