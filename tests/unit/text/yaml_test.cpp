// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "text/parse.hpp"

namespace berth::text {
namespace {

Document one(std::string_view text) {
  Diagnostics problems;
  auto documents = parse_yaml(text, "f.yaml", problems);
  EXPECT_TRUE(problems.empty()) << problems.render();
  if (documents.size() != 1) {
    ADD_FAILURE() << documents.size() << " documents in " << text;
    return {};
  }
  return std::move(documents.front());
}

std::string refused_yaml(std::string_view text) {
  Diagnostics problems;
  parse_yaml(text, "f.yaml", problems);
  return problems.render();
}

TEST(Yaml, ResolvesPlainScalarsAsKubernetesDoes) {
  struct Case {
    std::string_view yaml, json;
  };
  const Case cases[] = {
      {"~", "[null]"},
      {"null", "[null]"},
      {"NULL", "[null]"},
      {"''", "[\"\"]"},
      {"true", "[true]"},
      {"False", "[false]"},
      {"yes", "[\"yes\"]"},
      {"off", "[\"off\"]"},
      {"n", "[\"n\"]"},
      {"12", "[12]"},
      {"-12", "[-12]"},
      {"+12", "[12]"},
      {"1_000", "[1000]"},
      {"0x1F", "[31]"},
      {"-0x10", "[-16]"},
      {"0o17", "[15]"},
      {"017", "[15]"},
      {"08", "[8]"},
      {"0b11", "[3]"},
      {"0", "[0]"},
      {"-0", "[-0]"},
      {"1.50", "[1.50]"},
      {".5", "[0.5]"},
      {"5.", "[5]"},
      {"-.5", "[-0.5]"},
      {"1e3", "[1e3]"},
      {"5.e3", "[5e3]"},
      {".inf", "[\".inf\"]"},
      {".nan", "[\".nan\"]"},
      {"1.2.3", "[\"1.2.3\"]"},
      {"100m", "[\"100m\"]"},
      {"2001-01-01", "[\"2001-01-01\"]"},
      {"\"12\"", "[\"12\"]"},
      {"'true'", "[\"true\"]"},
      {"!!str 12", "[\"12\"]"},
      {"!!int '12'", "[12]"},
      {".", "[\".\"]"},
      {"-", "[\"-\"]"},
      {"0x", "[\"0x\"]"},
      {"1e", "[\"1e\"]"},
      {"18446744073709551616", "[18446744073709551616]"},
      {"00.5", "[0.5]"},
  };
  for (const Case& c : cases) {
    if (c.yaml == "-") continue;  // an empty sequence entry in flow context
    EXPECT_EQ(to_json(one("[" + std::string(c.yaml) + "]").root()), c.json) << c.yaml;
  }
}

TEST(Yaml, KnowsWhereKeysAndValuesStand) {
  const Document document = one("# note\na:\n  - x\n  - {b: 'y'}\nlong key: |\n  text\n");
  const Value& root = document.root();
  EXPECT_EQ(root.members()[0].key_position, (Position{2, 1}));
  EXPECT_EQ(root.find("a")->elements()[0].position(), (Position{3, 5}));
  const Value& flow = root.find("a")->elements()[1];
  EXPECT_EQ(flow.position(), (Position{4, 5}));
  EXPECT_EQ(flow.members()[0].key_position, (Position{4, 6}));
  EXPECT_EQ(flow.find("b")->position(), (Position{4, 9}));
  EXPECT_EQ(root.find("long key")->text(), "text\n");
  EXPECT_EQ(document.file(), "f.yaml");
}

TEST(Yaml, ReadsSeveralDocumentsAndLeavesOutEmptyOnes) {
  Diagnostics problems;
  const auto documents = parse_yaml("---\n# nothing\n---\na: 1\n---\n---\nb: 2\n...\n", "f", problems);
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(to_json(documents[0].root()), R"({"a":1})");
  EXPECT_EQ(to_json(documents[1].root()), R"({"b":2})");
  EXPECT_EQ(documents[1].root().members()[0].key_position, (Position{7, 1}));
  EXPECT_TRUE(parse_yaml("", "f", problems).empty());
  EXPECT_TRUE(problems.empty());
}

TEST(Yaml, ResolvesAnchorsAndMergeKeys) {
  const Document document = one(
      "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nuse:\n  <<: [*b, *m]\n  x: 9\nsame: *b\nquoted: {\"<<\": 1}\n");
  EXPECT_EQ(to_json(*document.root().find("use")), R"({"y":2,"z":4,"x":9})");
  EXPECT_EQ(to_json(*document.root().find("same")), R"({"x":1,"y":2})");
  EXPECT_EQ(document.root().find("same")->position(), (Position{6, 7}));
  EXPECT_EQ(to_json(*document.root().find("quoted")), R"({"<<":1})");
  EXPECT_NE(refused_yaml("<<: 3\n").find("'<<' takes a mapping"), std::string::npos);
}

TEST(Yaml, BoundsWhatAliasesCanStandFor) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 0; k < 9; ++k) bomb += "," + last;
    bomb += "]\n";
  }
  EXPECT_NE(refused_yaml(bomb).find("aliases stand for more than"), std::string::npos);
  EXPECT_NE(refused_yaml("a: &a [*a]\n").find("an alias inside of what it names"), std::string::npos);
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 150; ++i)
    deep += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_NE(refused_yaml(deep).find("nested deeper than 100 levels"), std::string::npos);
}

TEST(Yaml, RefusesMalformedTextWithItsPlace) {
  struct Case {
    std::string_view yaml, want;
  };
  const Case cases[] = {
      {"a: [1, 2", "f.yaml:1:1: malformed YAML: end of sequence flow not found"},
      {"a: b\n c: d\n", "f.yaml:2:3: malformed YAML: "},
      {"a: 'open\n", "f.yaml:2:1: malformed YAML: "},
      {"{[1]: 2}", "f.yaml:1:2: malformed YAML: a key must be a scalar"},
      {"a: \x04 b: c", "f.yaml:1:4: malformed YAML: control character"},
      {"a: b\nc: \xff", "f.yaml:2:4: malformed YAML: not UTF-8"},
      {"a: *undefined\n", "f.yaml:1:4: malformed YAML: "},
      {", a", "f.yaml:1:1: malformed YAML: no value can start here"},
      {"a: \"\\N\"", "f.yaml:1:4: malformed YAML: an escape that is no character here"},
  };
  for (const Case& c : cases) EXPECT_EQ(refused_yaml(c.yaml).substr(0, c.want.size()), c.want) << refused_yaml(c.yaml);
  EXPECT_NE(refused_yaml(std::string(100'000, '[')), "");
  EXPECT_NE(refused_yaml(std::string(400, '[') + std::string(400, ']')).find("nested deeper"), std::string::npos);
}

TEST(Yaml, KeepsWhatStoodBeforeAFault) {
  Diagnostics problems;
  const auto documents = parse_yaml("a: 1\n---\nb: [\n", "f", problems);
  EXPECT_EQ(documents.size(), 1u);
  EXPECT_EQ(problems.size(), 1u);
}

TEST(Yaml, KeepsDuplicateKeysAndReportsThem) {
  const Document document = one("a: 1\nb:\n- {c: 1, c: 2}\na: 3\n");
  EXPECT_EQ(document.root().members().size(), 3u);
  EXPECT_EQ(document.root().find("a")->text(), "3");
  EXPECT_EQ(to_json(document.root()), R"({"b":[{"c":2}],"a":3})");
  Diagnostics problems;
  report_duplicates(document, document.root(), problems);
  EXPECT_EQ(problems.render(),
            "f.yaml:4:1: a: key \"a\" stands here a second time (the first is at 1:1)\n"
            "f.yaml:3:10: b[0].c: key \"c\" stands here a second time (the first is at 3:4)\n");
  std::string many;
  for (int i = 0; i < 40; ++i) many += "k" + std::to_string(i) + ": 1\n";
  const Document large = one(many + "k7: 2\n");
  Diagnostics more;
  report_duplicates(large, large.root(), more);
  EXPECT_EQ(more.render(), "f.yaml:41:1: k7: key \"k7\" stands here a second time (the first is at 8:1)\n");
}

}  // namespace
}  // namespace berth::text
