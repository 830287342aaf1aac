/* SPDX-License-Identifier: Apache-2.0
 * Version of the plugin ABI that this header set describes.
 *
 * The major version is part of the entry symbol's name (berth_library_entry_v1), so a host can look for several majors
 * in one file. Within a major nothing that was published changes: minors add. COMPATIBILITY.md says what that means in full.
 * What a plugin needs of its host is the minor it requires, not the one it was built with: a host loads every plugin that
 * requires no more than it implements. The C++ wrapper computes it from what the policy uses (minors.hpp). */
#ifndef BERTH_ABI_VERSION_H
#define BERTH_ABI_VERSION_H

#define BERTH_ABI_MAJOR 1u /* part of the name of the entry symbol */
#define BERTH_ABI_MINOR 0u /* what this header set has; raised by each addition */

/* The oldest host minor that the plugin can work with. A plugin in C that knows it needs less defines it before the first
 * include; it then looks at what the binder and BERTH_HAS say before it uses anything newer. */
#ifndef BERTH_MINOR_REQUIRED
#define BERTH_MINOR_REQUIRED BERTH_ABI_MINOR
#endif

/* Counts changes of meaning without a change of layout: units, rounding, event splits. Versioned apart from the ABI. */
#define BERTH_DATA_MODEL 1u

#define BERTH_SDK_VERSION "1.0.0" /* begins with major and minor */

#endif
