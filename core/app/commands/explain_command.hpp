// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>
#include <string>

#include "app/simulate/cluster_view.hpp"

namespace berth::app {

struct ExplainOptions {
  std::string pod;  // NS/POD
  ViewOptions view;
  std::string why_not;           // a node that is asked about; empty: none
  std::string output = "table";  // table, wide, json, yaml
  bool fail_on_pending = false;
};

/// `berth explain`. Returns the exit status: 0 explained, 1 it could not be, 2 usage, 3 the pod is pending or gated, with
/// fail_on_pending.
int run_explain(const ExplainOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
