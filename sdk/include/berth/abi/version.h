/* SPDX-License-Identifier: Apache-2.0
 * Version of the plugin ABI that this header set describes.
 *
 * The major version is part of the entry symbol's name (berth_library_entry_v0), so a host can look for several majors
 * in one file. ABI 0 is the preview before the freeze: a minor may break an earlier one, and the changelog then says so.
 * A plugin never loads into a host of a smaller minor. */
#ifndef BERTH_ABI_VERSION_H
#define BERTH_ABI_VERSION_H

#define BERTH_ABI_MAJOR 0u
#define BERTH_ABI_MINOR 6u

/* Counts changes of meaning without a change of layout: units, rounding, event splits. Versioned apart from the ABI. */
#define BERTH_DATA_MODEL 1u

#define BERTH_SDK_VERSION "0.6.0"

#endif
