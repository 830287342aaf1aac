// SPDX-License-Identifier: Apache-2.0
// yaml_to_json < FILE: the documents of a file as one JSON array, read as berth reads its own configuration, duplicate
// keys refused. For tests in Python, which has no YAML of its own.
#include <iostream>
#include <iterator>

#include "text/parse.hpp"

int main() {
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  berth::text::Diagnostics problems;
  const auto documents = berth::text::parse(input, "-", problems);
  std::string out = "[";
  for (const auto& document : documents) {
    berth::text::report_duplicates(document, document.root(), problems);
    out += (out.size() == 1 ? "" : ",") + berth::text::to_json(document.root());
  }
  std::cerr << problems.render();
  if (!problems.empty()) return 1;
  std::cout << out << "]\n";
  return 0;
}
