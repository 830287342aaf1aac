// SPDX-License-Identifier: Apache-2.0
/// cel_vectors [--more] DIR|FILE: holds recorded expressions against sdk/cel. Of a folder, every .json and .json.gz file directly in
/// it. Prints what agrees, and of every other expression what was recorded and what came out; with --more also costs and
/// texts of errors that differ, which do not count. Exits with 1 if an expression differs, with 2 if a file cannot be read.
#include <cstdio>
#include <exception>
#include <string_view>

#include "support/packed_file.hpp"
#include "vectors.hpp"

namespace {

using berth::cel::Comparison;

bool compare_file(const std::string& file, bool is_verbose, std::size_t& count) {
  const berth::cel::Recording recording = berth::cel::read_recording(file);
  berth::cel::Evaluator evaluator;
  std::size_t agreeing = 0;
  Comparison sum;
  for (const berth::cel::Vector& vector : recording.vectors) {
    const Comparison made = berth::cel::compare_with_recording(recording, vector, evaluator);
    agreeing += made.differs.empty();
    sum.results += made.results;
    sum.same_results += made.same_results;
    sum.costs += made.costs;
    sum.same_costs += made.same_costs;
    sum.errors += made.errors;
    sum.same_errors += made.same_errors;
    for (const std::string* text : {&made.differs, is_verbose ? &made.other : nullptr})
      if (text != nullptr && !text->empty())
        std::printf("%s: %s %s\n    %s\n", file.c_str(), vector.id.c_str(), vector.expression.substr(0, 300).c_str(),
                    text->c_str());
  }
  count += recording.vectors.size();
  std::printf(
      "%s: %zu of %zu expressions agree: %zu of %zu results; the same costs %zu of %zu, texts of errors %zu of %zu\n",
      file.c_str(), agreeing, recording.vectors.size(), sum.same_results, sum.results, sum.same_costs, sum.costs,
      sum.same_errors, sum.errors);
  return agreeing == recording.vectors.size();
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_verbose = count == 3 && std::string_view(arguments[1]) == "--more";
  if (count != 2 && !is_verbose) {
    std::fprintf(stderr, "usage: cel_vectors [--more] DIR|FILE\n");
    return 2;
  }
  const std::string path = arguments[count - 1];
  std::size_t expressions = 0;
  bool agrees = true;
  try {
    for (const std::string& file : berth::tests::recordings_at(path))
      agrees = compare_file(file, is_verbose, expressions) && agrees;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cel_vectors: %s\n", e.what());
    return 2;
  }
  if (expressions == 0) std::fprintf(stderr, "cel_vectors: %s: no expressions\n", path.c_str());
  return expressions != 0 && agrees ? 0 : 1;
}
