# SPDX-License-Identifier: Apache-2.0
"""A client certificate with a long chain behind it, which no authority has signed and which takes long to judge."""
import base64
import random
import subprocess


def element(tag, content):
    size = len(content)
    count = (size.bit_length() + 7) // 8
    return bytes([tag]) + (bytes([size]) if size < 128 else bytes([0x80 | count]) + size.to_bytes(count, "big")) + content


def sequence(*parts):
    return element(0x30, b"".join(parts))


def integer(value):
    return element(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def bits(content):
    return element(3, b"\0" + content)


def named(number):
    return sequence(element(0x31, sequence(bytes.fromhex("0603550403"), element(0x0C, b"c%d" % number))))


SHA256_WITH_RSA = sequence(bytes.fromhex("06092a864886f70d01010b"), element(5, b""))
RSA = sequence(bytes.fromhex("06092a864886f70d010101"), element(5, b""))
TIMES = sequence(element(0x17, b"200101000000Z"), element(0x17, b"400101000000Z"))


def pem(number, key, dice):
    signed = sequence(element(0xA0, integer(2)), integer(number + 1), SHA256_WITH_RSA, named(number + 1), TIMES,
                      named(number), key)
    made = sequence(signed, SHA256_WITH_RSA, bits(b"\1" + dice.randbytes(383)))
    return b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(made) + b"-----END CERTIFICATE-----\n"


def rsa_key(dice):
    """With a public exponent as long as its modulus: a signature takes a hundred times as long to judge as by others."""
    modulus = dice.getrandbits(3072) | 0xFF << 3064 | 1
    exponent = dice.getrandbits(3071) | 1 << 3070 | 1
    return sequence(RSA, bits(sequence(integer(modulus), integer(exponent))))


def long_chain(folder, others):
    """(certificates, key) in files: one of our own, which the next one is said to have signed, and so on."""
    dice = random.Random(others)
    certificates, key = folder / "long_chain.crt", folder / "long_chain.key"
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True,
                   capture_output=True, timeout=60)
    own = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], check=True, capture_output=True,
                         timeout=60).stdout
    certificates.write_bytes(pem(0, own, dice) + b"".join(pem(n, rsa_key(dice), dice) for n in range(1, others + 1)))
    return certificates, key
