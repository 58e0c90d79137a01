"""`$include` in a settings file: other files merged in, none from outside its folder."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_DEPTH = 10
MOST_BYTES = 2 * 1024 * 1024
DIRECTIVE = "$include"
_UNSAFE_KEYS = ("__proto__", "prototype", "constructor")


class IncludeError(Exception):
    """A directive that cannot be followed, in the reference's words."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What includes came to. `files` has the same shape, with the file of every plain value."""

    value: object
    files: object


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A plain value on its way up, with the file that it stands in."""

    value: object
    file: str


@dataclass(frozen=True, slots=True)
class Includer:
    """Follows directives below `root`. `parse` may raise ValueError."""

    root: Path
    parse: Callable[[str], object]

    def resolve(self, value: object, file: Path) -> Resolved:
        """`value`, read from `file`, with every directive in it followed."""
        tree = self._resolve(value, (os.path.normpath(file),))
        return Resolved(
            value=_each_leaf(tree, lambda leaf: leaf.value),
            files=_each_leaf(tree, lambda leaf: leaf.file),
        )

    def _resolve(self, value: object, chain: tuple[str, ...]) -> object:
        if isinstance(value, list):
            return [self._resolve(item, chain) for item in value]
        if not isinstance(value, dict):
            return _Leaf(value, chain[-1])
        if DIRECTIVE not in value:
            return {key: self._resolve(item, chain) for key, item in value.items()}
        included = self._included(value[DIRECTIVE], chain)
        beside = {key: item for key, item in value.items() if key != DIRECTIVE}
        if not beside:
            return included
        if not isinstance(included, dict):
            raise IncludeError("Sibling keys require included content to be an object")
        return deep_merge(included, {k: self._resolve(v, chain) for k, v in beside.items()})

    def _included(self, directive: object, chain: tuple[str, ...]) -> object:
        if isinstance(directive, str):
            return self._file(directive, chain)
        if not isinstance(directive, list):
            raise IncludeError(_not_a_path(directive))
        merged: object = {}
        for entry in directive:
            if not isinstance(entry, str):
                raise IncludeError(_not_a_path(entry))
            merged = deep_merge(merged, self._file(entry, chain))
        return merged

    def _file(self, name: str, chain: tuple[str, ...]) -> object:
        target = os.path.normpath(Path(chain[-1]).parent / name)
        root = os.path.normpath(self.root)
        if not _is_below(target, root):
            raise IncludeError(f"Include path escapes config directory: {name} (root: {root})")
        if target in chain:
            raise IncludeError(f"Circular include detected: {' -> '.join([*chain, target])}")
        if len(chain) > MOST_DEPTH:
            raise IncludeError(f"Maximum include depth ({MOST_DEPTH}) exceeded at: {name}")
        text = self._read(name, target, root)
        try:
            value = self.parse(text)
        except (ValueError, RecursionError) as error:
            what = f"Failed to parse include file: {name} (resolved: {target})"
            raise IncludeError(f"{what}: {error}") from None
        return self._resolve(value, (*chain, target))

    def _read(self, name: str, target: str, root: str) -> str:
        failed = f"Failed to read include file: {name} (resolved: {target})"
        try:
            real = os.path.realpath(target)
            if not _is_below(real, os.path.realpath(root)):
                raise IncludeError(
                    "Include path resolves outside config directory (symlink): "
                    f"{name} (root: {root})"
                )
            # No waiting on a pipe, and no second name by which a file from elsewhere gets in.
            descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(descriptor, "rb") as opened:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                    raise IncludeError(f"{failed}: not a regular file with one name")
                data = opened.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise IncludeError(f"{failed}: larger than {MOST_BYTES} bytes")
            return data.decode("utf-8", "replace").removeprefix("\ufeff")
        except (OSError, ValueError) as error:
            raise IncludeError(f"{failed}: {_reason(error)}") from None


def deep_merge(base: object, over: object) -> object:
    """Objects key by key, arrays one after the other, anything else replaced."""
    if isinstance(base, list) and isinstance(over, list):
        return [*base, *over]
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    merged: dict[str, Any] = {k: v for k, v in base.items() if k not in _UNSAFE_KEYS}
    for key, value in over.items():
        if key not in _UNSAFE_KEYS:
            merged[key] = deep_merge(merged[key], value) if key in merged else value
    return merged


def has_directive(value: object) -> bool:
    if isinstance(value, dict):
        return DIRECTIVE in value or any(has_directive(item) for item in value.values())
    return isinstance(value, list) and any(has_directive(item) for item in value)


def _each_leaf(tree: object, change: Callable[[_Leaf], object]) -> object:
    if isinstance(tree, dict):
        return {key: _each_leaf(item, change) for key, item in tree.items()}
    if isinstance(tree, list):
        return [_each_leaf(item, change) for item in tree]
    return change(tree) if isinstance(tree, _Leaf) else tree


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _not_a_path(value: object) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", type(None): "null", str: "string"}
    kind = "array" if isinstance(value, list) else kinds.get(type(value), "object")
    return f"Invalid $include value: expected string or array of strings, got {kind}"


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "not a usable path"
