# SPDX-License-Identifier: Apache-2.0
"""Large and odd inputs, written small: what the data of a case stands for."""
import json
import struct
import zlib


def pieces_of(part):
    """The same bytes, piece by piece: what is packed may be larger than this machine has room for."""
    if isinstance(part, list):
        for one in part:
            yield from pieces_of(one)
    elif isinstance(part, dict) and "repeat" in part:
        unit, left = bytes_of(part["repeat"]), part["times"]
        while left:
            count = min(left, (1 << 20) // len(unit))
            yield unit * count
            left -= count
    else:
        yield bytes_of(part)


def bytes_of(part):
    """The bytes that a part of a case stands for; README.md lists the forms."""
    if isinstance(part, str):
        return part.encode()
    if isinstance(part, list):
        return b"".join(map(bytes_of, part))
    if "repeat" in part:
        return bytes_of(part["repeat"]) * part["times"]
    if "numbered" in part:
        return "".join(part["numbered"].replace("{n}", str(n)) for n in range(part["times"])).encode()
    if "hex" in part:
        return bytes.fromhex(part["hex"])
    if "gzip" in part:
        packer = zlib.compressobj(1, wbits=31)
        return b"".join(map(packer.compress, pieces_of(part["gzip"]))) + packer.flush()
    if "json" in part:
        return json.dumps(object_of(part["json"])).encode()
    raise ValueError(f"not a part: {part}")


def numbered(value, number):
    if isinstance(value, str):
        return value.replace("{n}", str(number))
    if isinstance(value, list):
        return [numbered(v, number) for v in value]
    if isinstance(value, dict):
        return {numbered(k, number): numbered(v, number) for k, v in value.items()}
    return value


def object_of(value):
    """A Kubernetes object, with {"$map": {KEY: VALUE}, "times": N}, {"$list": VALUE, "times": N} and
    {"$text": TEXT, "times": N} spelt out; {n} is the number."""
    if isinstance(value, list):
        return [object_of(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "$map" in value:
        return {k: v for n in range(value["times"]) for k, v in numbered(value["$map"], n).items()}
    if "$list" in value:
        return [numbered(value["$list"], n) for n in range(value["times"])]
    if "$text" in value:
        return value["$text"] * value["times"]
    return {k: object_of(v) for k, v in value.items()}


def each(entry):
    """The objects of an entry of `objects` or `then`: with "times": N, it stands for N of them; {n} is the number, and where
    "of": M is given, {m} is the number modulo M."""
    for number in range(entry.get("times", 1)):
        made = numbered(entry["object"], number) if "times" in entry else entry["object"]
        yield renamed(made, str(number % entry["of"])) if "of" in entry else made


def renamed(value, number):
    return json.loads(json.dumps(value).replace("{m}", number))


# --- Kubernetes' protobuf, as far as poisoned objects need it ---------------------------------------------------------

def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of a message: text, bytes, a number, or a list of fields, which is a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    content = b"".join(field(*f) for f in value) if isinstance(value, list) else value
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def envelope(api_version, kind, content):
    return b"k8s\0" + field(1, [[1, api_version], [2, kind]]) + field(2, content)


def watch_frame(event, api_version, kind, content):
    frame = field(1, event) + field(2, [[1, envelope(api_version, kind, content)]])
    return struct.pack(">I", len(frame)) + frame
