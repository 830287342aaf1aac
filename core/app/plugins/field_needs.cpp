// SPDX-License-Identifier: Apache-2.0
#include "app/plugins/field_needs.hpp"

#include "config/absent_plugins.hpp"

namespace berth::app {

std::vector<decode::FieldNeed> field_needs() {
  std::vector<decode::FieldNeed> needs;
  for (const config::AbsentPlugin& plugin : config::AbsentPlugins::embedded().all())
    for (const config::FieldNeed& need : plugin.needs) {
      decode::FieldNeed out{plugin.name, {}};
      for (const config::FieldCondition& condition : need.all_of)
        out.all_of.push_back({condition.path, condition.equals});
      needs.push_back(std::move(out));
    }
  return needs;
}

}  // namespace berth::app
