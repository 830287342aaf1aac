// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "app/verify/plugin_under_test.hpp"
#include "base/result.hpp"
#include "loader/plugin_file.hpp"

namespace berth::app {

/// A plugin file in a plugin directory of its own, with copies of berth's plugins and of the libraries (libNAME.so.N) that
/// lie next to it, so that the rules of a plugin directory hold wherever the file is. The directory goes with this object.
class FileUnderTest {
 public:
  /// Judges the file as `berth plugin inspect` does, and runs nothing of it. `plugin_dir`: of berth's own plugins; empty: as
  /// for `berth run`. Fails with all that is wrong with the file, or with what cannot be read or written.
  static Result<std::unique_ptr<FileUnderTest>> take(const std::string& file, const std::string& plugin_dir,
                                                     const std::string& config, const loader::FileRules& rules);
  FileUnderTest(const FileUnderTest&) = delete;
  FileUnderTest& operator=(const FileUnderTest&) = delete;
  ~FileUnderTest();

  const TestedPlugins& plugins() const noexcept { return plugins_; }

 private:
  explicit FileUnderTest(std::string directory) { plugins_.plugin_dir = std::move(directory); }
  TestedPlugins plugins_;
};

}  // namespace berth::app
