// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>
#include <string>

namespace berth::app {

struct RecordOptions {
  std::string path;      // a segment, or a directory of them
  std::string from, to;  // RFC 3339, or empty
  std::string output;    // cut: the file to write
  std::string kinds;     // export: names with commas between them; empty: all
  bool json = false;     // info
};

/// `berth record info|cut|export`. Each returns the exit status: 0 done, also where a part of the recording could not
/// be read, which is said; 1 there is no recording, none of that time, or the cut cannot be written; 2 usage.
int run_record_info(const RecordOptions& options, std::ostream& out, std::ostream& err);
int run_record_cut(const RecordOptions& options, std::ostream& out, std::ostream& err);
int run_record_export(const RecordOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
