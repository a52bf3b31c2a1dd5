"""Opening failure logs: compression and format are told from the content, not from the name."""

import bz2
import gzip
import json
import lzma
from pathlib import Path

from .errors import UserError

_MAGIC = {b"\x1f\x8b": gzip, b"\xfd7zXZ\x00": lzma, b"BZh": bz2}


def read_text(path):
    """The text of a log, decompressed if it is gzip, xz or bzip2; UserError for anything that is no text."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder, not a failure log") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    for magic, module in _MAGIC.items():
        if data.startswith(magic):
            try:
                data = module.decompress(data)
            except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
                raise UserError(f"{path}: the {module.__name__} compression is damaged: {error}") from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"  # what spreadsheets write as "Unicode text"
    else:
        encoding = "utf-8-sig"
        if b"\x00" in data[:4096]:
            raise UserError(
                f"{path}: holds binary data; a failure log is CSV or JSON text, or compressed text"
            )
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if not text.strip():
        raise UserError(f"{path}: is empty")
    return text


def parse_json(text, path):
    """The value of a JSON log; UserError with the place if it is not valid."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: not valid JSON: {error.msg} at line {error.lineno}") from None
    except RecursionError:
        raise UserError(f"{path}: not a failure log: JSON nested too deeply") from None
