# SPDX-License-Identifier: Apache-2.0
"""Places in a linked library of 64 bits, by what is there: a case need not know where the linker put it."""
import struct

TAGS = {"NEEDED": 1, "PLTRELSZ": 2, "HASH": 4, "STRTAB": 5, "SYMTAB": 6, "RELA": 7, "RELASZ": 8, "RELAENT": 9, "STRSZ": 10,
        "SYMENT": 11, "INIT": 12, "FINI": 13, "DEBUG": 21, "JMPREL": 23, "INIT_ARRAY": 25, "INIT_ARRAYSZ": 27, "FLAGS": 30,
        "GNU_HASH": 0x6FFFFEF5, "VERSYM": 0x6FFFFFF0, "RELACOUNT": 0x6FFFFFF9, "VERNEED": 0x6FFFFFFE,
        "VERNEEDNUM": 0x6FFFFFFF, "VERDEF": 0x6FFFFFFC}
SEGMENTS = {"LOAD": 1, "DYNAMIC": 2, "NOTE": 4, "PHDR": 6, "TLS": 7, "EH_FRAME": 0x6474E550, "STACK": 0x6474E551,
            "RELRO": 0x6474E552, "PROPERTY": 0x6474E553}


def first(found, name):
    for one in found:
        return one
    raise RuntimeError(f"the plugin of the case has no {name}")


def segments(content):
    """[(place of its header, type, offset, address, bytes of the file)]"""
    begin, count = struct.unpack_from("<Q", content, 32)[0], struct.unpack_from("<H", content, 56)[0]
    headers = [(begin + 56 * n, struct.unpack_from("<IIQQQQQQ", content, begin + 56 * n)) for n in range(count)]
    return [(at, h[0], h[2], h[3], h[5]) for at, h in headers]


def segment(content, name):
    return first((s for s in segments(content) if s[1] == SEGMENTS[name]), name)


def entry(content, name):
    """The place of an entry of the dynamic section: its tag, with its value 8 bytes behind."""
    _, _, begin, _, size = segment(content, "DYNAMIC")
    places = range(begin, begin + size, 16)
    return first((at for at in places if struct.unpack_from("<q", content, at)[0] == TAGS[name]), name)


def table(content, name):
    """The place of what an entry of the dynamic section points to."""
    address = struct.unpack_from("<Q", content, entry(content, name) + 8)[0]
    return first((address - begin + offset for _, kind, offset, begin, size in segments(content)
                  if kind == SEGMENTS["LOAD"] and begin <= address < begin + size), f"{name} in the file")


def place(content, patch):
    """Where a patch goes: "at" bytes from the beginning of the file, of a "segment"'s header, of an "entry" or of a "table"."""
    begin = 0
    if "segment" in patch:
        begin = segment(content, patch["segment"])[0]
    elif "entry" in patch:
        begin = entry(content, patch["entry"])
    elif "table" in patch:
        begin = table(content, patch["table"])
    return begin + patch.get("at", 0)
