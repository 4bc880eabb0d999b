"""Where a shared library looks for the libraries it needs: the dynamic section of an ELF file.

Reads 64-bit little-endian ELF, which is what Linux wheels hold; loads and runs nothing.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29
PROGRAM_HEADER = "<IIQQQQQQ"  # type, flags, offset, vaddr, paddr, filesz, memsz, align


@dataclass(frozen=True)
class Dynamic:
    """The entries of a library that the loader reads before it looks for other libraries.

    Attributes:
        needed: file names, such as "libcublas.so.12".
        rpath: folders searched before LD_LIBRARY_PATH; not looked at where there is a runpath.
        runpath: folders searched after LD_LIBRARY_PATH.
    """

    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]

    @property
    def search(self) -> str:
        """ "RPATH" if its own folders go before LD_LIBRARY_PATH, else "RUNPATH" (ld.so(8))."""
        return "RPATH" if self.rpath and not self.runpath else "RUNPATH"


def read_dynamic(library: Path) -> Dynamic | None:
    """Read it from a file; None unless it is a 64-bit little-endian ELF file with such a section.

    `$ORIGIN` is replaced by the folder of the library, as the loader does.
    """
    try:
        with library.open("rb") as file:
            entries, strings_at = _entries(file)
            found = {tag: [] for tag in (DT_NEEDED, DT_RPATH, DT_RUNPATH)}
            for tag, value in entries:
                if tag in found:
                    found[tag].append(_string(file, strings_at + value))
    except (OSError, ValueError, struct.error, StopIteration):
        return None
    needed, *folders = found.values()
    origin = str(library.parent)
    rpath, runpath = (
        tuple(f.replace("$ORIGIN", origin) for text in texts for f in text.split(":") if f)
        for texts in folders
    )
    return Dynamic(tuple(needed), rpath, runpath)


def _entries(file: BinaryIO) -> tuple[list[tuple[int, int]], int]:
    """The (tag, value) pairs of the dynamic section, and where its strings begin in the file."""
    if file.read(6) != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit little-endian ELF file")
    file.seek(32)
    (headers_at,) = struct.unpack("<Q", file.read(8))
    file.seek(54)
    size, count = struct.unpack("<HH", file.read(4))
    file.seek(headers_at)
    segments = [struct.unpack(PROGRAM_HEADER, file.read(size)[:56]) for _ in range(count)]
    _, _, offset, *_, length, _, _ = next(s for s in segments if s[0] == PT_DYNAMIC)
    file.seek(offset)
    entries = list(struct.iter_unpack("<qQ", file.read(length)))
    address = next(value for tag, value in entries if tag == DT_STRTAB)
    home = next(s for s in segments if s[0] == PT_LOAD and s[3] <= address < s[3] + s[5])
    return entries, home[2] + address - home[3]


def _string(file: BinaryIO, at: int) -> str:
    file.seek(at)
    text = b""
    while b"\0" not in text and (more := file.read(4096)):
        text += more
    return text.partition(b"\0")[0].decode(errors="replace")
