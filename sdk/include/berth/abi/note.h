/* SPDX-License-Identifier: Apache-2.0
 * The identity note: an ELF note that says what a file offers, readable without running any of its code.
 *
 * Section .note.berth, owner "berth" (6 bytes with the NUL, padded to 8), type 1, 4-byte aligned. The descriptor is four
 * little- or big-endian uint16_t (ABI major, minor built, minor required, data model; byte order of the file), then
 * NUL-terminated "key=value" strings. One note per plugin. Keys: plugin, version, points (repeated, one id each),
 * service (repeated, required services), watch (repeated, "group/version/resource", for RBAC), rbac (repeated,
 * "verb group/resource", for the writes service), sdk, compiler, isa. Unknown keys are ignored.
 *
 * C authors write, once per plugin, at file scope:
 *   BERTH_NOTE(rack, "plugin=example.com/NeedsRack\0" "version=1.0.0\0" "points=berth.filter/1\0")
 * The C++ wrapper makes the note from the plugin's class. */
#ifndef BERTH_ABI_NOTE_H
#define BERTH_ABI_NOTE_H

#include "types.h"
#include "version.h"

#define BERTH_NOTE_OWNER "berth"         /* n_name of the ELF note */
#define BERTH_NOTE_TYPE 1u               /* n_type of it */
#define BERTH_NOTE_SECTION ".note.berth" /* where notes stand in a file */

#if defined(__clang__)
#define BERTH_NOTE_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define BERTH_NOTE_COMPILER "gcc " __VERSION__
#else
#define BERTH_NOTE_COMPILER "unknown"
#endif

#if defined(__x86_64__) && defined(__AVX2__)
#define BERTH_NOTE_ISA "x86-64-v3"
#elif defined(__x86_64__) && defined(__SSE4_2__)
#define BERTH_NOTE_ISA "x86-64-v2"
#else
#define BERTH_NOTE_ISA "baseline"
#endif

#define BERTH_NOTE_TRAILER "sdk=" BERTH_SDK_VERSION "\0compiler=" BERTH_NOTE_COMPILER "\0isa=" BERTH_NOTE_ISA

#define BERTH_NOTE(symbol, entries)                                                               \
  __attribute__((used, aligned(4), section(BERTH_NOTE_SECTION))) static const struct {            \
    uint32_t name_size, desc_size, type;                                                          \
    char owner[8];                                                                                \
    uint16_t major, minor_built, minor_required, data_model;                                      \
    char text[(sizeof(entries BERTH_NOTE_TRAILER) + 3u) & ~3u];                                    \
  } berth_note_##symbol = {6u,                                                                    \
                           8u + sizeof(entries BERTH_NOTE_TRAILER),                                \
                           BERTH_NOTE_TYPE,                                                       \
                           BERTH_NOTE_OWNER,                                                      \
                           BERTH_ABI_MAJOR,                                                       \
                           BERTH_ABI_MINOR,                                                       \
                           BERTH_MINOR_REQUIRED,                                                  \
                           BERTH_DATA_MODEL,                                                      \
                           entries BERTH_NOTE_TRAILER};

#endif
