// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>

#include "app/cli/record_options.hpp"

namespace berth::app {

/// `berth record info|cut|export`. Each returns the exit status: 0 done, also where a part of the recording could not
/// be read, which is said; 1 there is no recording, none of that time, or the cut cannot be written; 2 usage.
int run_record_info(const RecordOptions& options, std::ostream& out, std::ostream& err);
int run_record_cut(const RecordOptions& options, std::ostream& out, std::ostream& err);
int run_record_export(const RecordOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
