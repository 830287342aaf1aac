// SPDX-License-Identifier: Apache-2.0
/// Collects what is wrong with args and reports it at once, in the form of Kubernetes' field errors.
///
/// Place:   a constructor that reads its args: what args_schema cannot say. Threads: one. Errors: end() throws, add functions do not.
/// Source:  kubernetes v1.36 apimachinery/pkg/util/validation/field, whose sentences these are; ToAggregate joins them.
#pragma once
#include <berth/names.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace berth {
inline namespace sdk {

/// Each function adds one problem. `path` is a field path below the args, such as "resources[1].weight". Texts are
/// copied.
class ArgProblems {
 public:
  /// "list[index]", or "list[index].field".
  static std::string at(std::string_view list, std::size_t index, std::string_view field = {}) {
    std::string path(list);
    path += "[" + std::to_string(index) + "]";
    if (!field.empty()) path.append(".").append(field);
    return path;
  }
  /// In double quotes; what is inside stays as it is.
  static std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

  /// `value` as it should appear: a number, or quoted() text.
  void invalid(const std::string& path, const std::string& value, std::string_view why) {
    add(path + ": Invalid value: " + value + ": " + std::string(why));
  }
  /// The field is absent, or empty. `why` may be empty.
  void required(const std::string& path, std::string_view why) { add(path + ": Required value: " + std::string(why)); }
  /// The field may not be given here.
  void forbidden(const std::string& path, std::string_view why) { add(path + ": Forbidden: " + std::string(why)); }
  /// The value stood there before.
  void duplicate(const std::string& path, std::string_view value) { add(path + ": Duplicate value: " + quoted(value)); }
  /// `supported`: the accepted words in order, each quoted.
  void unsupported(const std::string& path, std::string_view value, std::string_view supported) {
    add(path + ": Unsupported value: " + quoted(value) + ": supported values: " + std::string(supported));
  }
  /// One invalid() per problem of qualified_name_problems(): for keys of labels and names of resources.
  void check_label_name(const std::string& path, std::string_view name) {
    for (const std::string& why : qualified_name_problems(name)) invalid(path, quoted(name), why);
  }

  /// Throws BadArgs when something was found: one problem as it is, several as "[a, b]".
  void end() const {
    if (texts_.empty()) return;
    std::string all = texts_.front();
    for (std::size_t i = 1; i < texts_.size(); ++i) all += ", " + texts_[i];
    throw BadArgs(texts_.size() == 1 ? all : "[" + all + "]");
  }

 private:
  void add(std::string text) { texts_.push_back(std::move(text)); }

  std::vector<std::string> texts_;
};

}  // namespace sdk
}  // namespace berth
