// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "config/raw_configuration.hpp"
#include "config/read/fields.hpp"
#include "config/read/tree.hpp"
#include "text/diagnostics.hpp"

/// The plugins of a profile, point by point, while an old configuration is translated.
namespace berth::config {

/// The set of that name; Requires: there is one.
std::size_t plugin_set_of(std::string_view name);

/// Plugins of one point as a list in conf/legacy writes them: [{name, weight}]. All stand at `place`.
std::vector<RawPlugin> plugins_of_data(const text::Value& list, const Place& place);

/// Defaults minus what the user disabled, then the user's own. `in_place`: a default that is listed again keeps its
/// place and takes the user's weight; otherwise both stay, which the reader of v1 refuses as it was refused then.
RawPluginSets merge_point_by_point(const RawPluginSets& defaults, const RawPluginSets& user, bool in_place);

/// Adds the points at which plugins of today work in addition to those of old. `defaults` had the others: where a user
/// took a plugin away from one of those, it stays away.
void add_companions(RawPluginSets& sets, const RawPluginSets& defaults);

/// Puts plugins of today into the place of those that only the library of old policies has, in the sets and in
/// `plugin_config` (a list). Each change is a note.
void modernise(RawPluginSets& sets, Tree& plugin_config, const Source& source, text::Diagnostics& notes);

/// The args of a plugin in a `pluginConfig` list; made, at `position`, when there are none.
Tree& args_in(Tree& plugin_config, std::string_view name, text::Position position);
/// Adds what `defaults` has and `args` lacks, at any depth.
void fill(Tree& args, const Tree& defaults);
void fill(Tree& args, const text::Value& defaults);

/// `plugins` of a profile. `instead_of_defaults`: the default profile of today is switched off first.
Tree tree_of(const RawPluginSets& sets, bool instead_of_defaults, text::Position position);

}  // namespace berth::config
