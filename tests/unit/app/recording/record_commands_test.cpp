// SPDX-License-Identifier: Apache-2.0
// A simulation is recorded, looked into, cut and decided again.
#include <sys/stat.h>

#include "app/commands/explain_command.hpp"
#include "app/recording/recorded_moment.hpp"
#include "record_fixture.hpp"
#include "recording/segment_files.hpp"

namespace berth::app {
namespace {

TEST_F(RecordCommands, ASimulationIsRecordedAsAWhole) {
  simulate();
  const std::string spans = info();
  const std::int64_t decisions = number(spans, "decisions");
  EXPECT_GE(decisions, 54) << spans;
  EXPECT_EQ(number(spans, "missing"), 0);
  EXPECT_EQ(number(spans, "runs"), 1);
  EXPECT_EQ(number(spans, "records.node"), 12);
  EXPECT_GT(number(spans, "placed"), 30);
  const std::string attempts = lines(recording(), "attempt");
  EXPECT_EQ(std::count(attempts.begin(), attempts.end(), '\n'), decisions);
  EXPECT_NE(attempts.find("Insufficient cpu"), std::string::npos);
  const std::string writes = lines(recording(), "write");
  EXPECT_NE(writes.find(R"("what":"bind","pod":"shop/plain-)"), std::string::npos) << writes.substr(0, 400);
  EXPECT_NE(writes.find(R"("what":"evict")"), std::string::npos);
  EXPECT_EQ(lines(recording(), "").find("hunter2"), std::string::npos);
}

TEST_F(RecordCommands, EveryDecisionComesOutTheSame) {
  simulate();
  EXPECT_EQ(replay(recording()), 0) << replayed;
  EXPECT_EQ(number(replayed, "different"), 0) << replayed;
  EXPECT_EQ(number(replayed, "same"), number(info(), "decisions"));
  EXPECT_EQ(number(replayed, "contradictions"), 0);
}

TEST_F(RecordCommands, OtherPoliciesAreShownSideBySide) {
  simulate();
  const std::string other = write("other.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]
)");
  EXPECT_EQ(replay(recording(), other), 0) << replayed;
  EXPECT_GT(number(replayed, "different"), 5) << replayed;
  const std::size_t policies = replayed.find(R"("policies":[{"name":"as recorded","placed":)");
  ASSERT_NE(policies, std::string::npos) << replayed;
  EXPECT_NE(replayed.find("other.yaml\",\"placed\":", policies), std::string::npos) << replayed;
  EXPECT_NE(replayed.find(R"("pod":"shop/plain-)"), std::string::npos) << replayed;
  EXPECT_EQ(number(replayed, "same") + number(replayed, "different"), number(info(), "decisions"));
}

TEST_F(RecordCommands, ASearchThatBeginsElsewhereEachTimeIsFollowed) {
  std::string nodes;
  for (int i = 0; i < 300; ++i)
    nodes += fmt::format(
        "---\n{{apiVersion: v1, kind: Node, metadata: {{name: n-{}}}, status: {{allocatable: {{cpu: \"4\", "
        "memory: 8Gi, pods: \"10\"}}}}}}\n",
        i);
  const std::string more = write("more.yaml", nodes);
  const std::string sampling = write("sampling.yaml",
                                     "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                                     "percentageOfNodesToScore: 34\n");
  SimulateOptions options;
  options.cluster = {write("cluster.yaml", cluster_of_many_kinds()), more};
  options.config = sampling;
  options.plugin_dir = std::getenv("BERTH_PLUGIN_DIR");
  options.record = recording();
  std::ostringstream out, err;
  ASSERT_EQ(run_simulate(options, out, err), 0) << err.str();
  EXPECT_EQ(replay(recording()), 0) << replayed;
}

TEST_F(RecordCommands, ACutIsARecordingOfItsOwn) {
  simulate();
  const std::string attempts = lines(recording(), "attempt");
  // In the middle, to the nanosecond.
  std::size_t at = 0;
  for (int i = 0; i < 30; ++i) at = attempts.find('\n', at) + 1;
  const std::string moment = attempts.substr(at + 7, attempts.find('"', at + 7) - at - 7);
  RecordOptions cut;
  cut.path = recording();
  cut.from = moment;
  cut.output = folder + "/cut.rec";
  std::ostringstream out, err;
  ASSERT_EQ(run_record_cut(cut, out, err), 0) << err.str();
  EXPECT_EQ(err.str(), "");
  EXPECT_EQ(lines(cut.output, "attempt"), lines(recording(), "attempt", moment));
  EXPECT_NE(lines(cut.output, "node").find("node-11"), std::string::npos);
  EXPECT_EQ(replay(cut.output), 0) << replayed;
  const std::string left = lines(cut.output, "attempt");
  EXPECT_EQ(number(replayed, "same"), std::count(left.begin(), left.end(), '\n')) << replayed;
  // It has of the cluster what the recording has, which its owner alone may read.
  struct stat file {};
  ASSERT_EQ(::stat(cut.output.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(RecordCommands, ACutTakesThePlaceOfAFileAndFollowsNoLink) {
  simulate();
  const auto cut_to = [&](const std::string& output) {
    RecordOptions cut;
    cut.path = recording();
    cut.output = output;
    std::ostringstream out, err;
    const int status = run_record_cut(cut, out, err);
    EXPECT_EQ(status == 0, err.str().empty()) << err.str();
    return status;
  };
  // Others may read the file that is there, and one of them has it open.
  const std::string open_to_others = write("open.rec", "before");
  ASSERT_EQ(::chmod(open_to_others.c_str(), 0666), 0);
  std::ifstream opened(open_to_others);
  EXPECT_EQ(cut_to(open_to_others), 0);
  struct stat file {};
  ASSERT_EQ(::stat(open_to_others.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(opened), {}), "before");
  const std::string victim = write("victim", "untouched");
  std::filesystem::create_symlink(victim, folder + "/link.rec");
  EXPECT_EQ(cut_to(folder + "/link.rec"), 1);
  std::ifstream in(victim);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "untouched");
  EXPECT_EQ(cut_to(folder), 1);
  EXPECT_EQ(cut_to(folder + "/nowhere/cut.rec"), 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_EQ(entry.path().filename().string().find(".rec."), std::string::npos) << "left behind: " << entry.path();
}

TEST_F(RecordCommands, APodIsExplainedAsAnAttemptSawTheCluster) {
  simulate();
  ExplainOptions options;
  options.pod = "shop/too-large-1";
  options.output = "json";
  options.view.record = recording();
  options.view.plugin_dir = std::getenv("BERTH_PLUGIN_DIR");
  const auto explain = [&](int status) {
    std::ostringstream out, err;
    EXPECT_EQ(run_explain(options, out, err), status) << err.str();
    return out.str() + err.str();
  };
  // The recording says what the attempt came to: asked again, the policies say the same of the cluster at that moment.
  const std::string attempts = lines(recording(), "attempt");
  const std::size_t at = attempts.find("\"name\":\"too-large-1\"");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(attempts.find("0/12 nodes are available: 12 Insufficient cpu.", attempts.rfind('\n', at)),
            std::string::npos);
  options.view.moment.attempt = 1;
  EXPECT_NE(explain(0).find("NodeResourcesFit"), std::string::npos);
  // At its end; before anything was there; at a moment that is none; an attempt that never was.
  options.view.moment = {};
  EXPECT_NE(explain(0).find("NodeResourcesFit"), std::string::npos);
  options.view.moment.at = "2001-01-01T00:00:00Z";
  EXPECT_NE(explain(1).find("nothing was recorded up to then"), std::string::npos);
  options.view.moment.at = "yesterday";
  EXPECT_NE(explain(1).find("yesterday is no moment"), std::string::npos);
  options.view.moment = {};
  options.view.moment.attempt = 77;
  EXPECT_NE(explain(1).find("no attempt 77 of shop/too-large-1"), std::string::npos);
  options.view.cluster = {"x.yaml"};
  EXPECT_NE(explain(2).find("leave one of them out"), std::string::npos);
}

TEST_F(RecordCommands, AMomentIsReadFromTheLastSegmentThatKnowsTheCluster) {
  simulate();
  const std::vector<recording::Record> all = records();
  const std::filesystem::path directory = recording();
  std::filesystem::rename(directory / recording::segment_name(1), directory / recording::segment_name(2));
  const auto moment = [&] {
    SymbolTable symbols;
    Result<RecordedMoment> read = read_moment(recording(), {}, symbols);
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
    return read.ok() ? std::pair(read->objects.size(), read->problems.size())
                     : std::pair(std::size_t{0}, std::size_t{0});
  };
  const auto [objects, problems] = moment();
  EXPECT_GT(objects, 50u);
  EXPECT_EQ(problems, 0u);

  // An earlier one is not looked at.
  std::ofstream(directory / recording::segment_name(1)) << "no segment";
  EXPECT_EQ(moment(), std::pair(objects, std::size_t{0}));

  // A later one that was just begun does not tell the cluster: what is before it does.
  const recording::Record& last = all.back();
  std::ofstream(directory / recording::segment_name(3), std::ios::binary)
      << recording::header_bytes({2, 3, last.wall_ns, last.at_ns, false});
  EXPECT_EQ(moment().first, objects);
}

TEST_F(RecordCommands, AMomentIsTheClusterThatADecisionSaw) {
  simulate();
  const auto pods_on_nodes = [&](const MomentWanted& wanted) {
    SymbolTable symbols;
    const Result<RecordedMoment> moment = read_moment(recording(), wanted, symbols);
    EXPECT_TRUE(moment.ok()) << (moment.ok() ? "" : moment.error().message);
    std::size_t placed = 0;
    if (moment.ok())
      for (const decode::Decoded& object : moment->objects)
        if (const auto* pod = std::get_if<model::PodPtr>(&object)) placed += (*pod)->node_name != k_no_symbol;
    return placed;
  };
  // Pods are decided about by priority, then in the order in which they came: 4 important ones first.
  const std::size_t first = pods_on_nodes({{}, "shop/plain-0", 1}), later = pods_on_nodes({{}, "shop/plain-9", 1});
  EXPECT_EQ(later, first + 9);
  EXPECT_GT(pods_on_nodes({}), later);
}

TEST_F(RecordCommands, WrongUseAndWrongFilesAreSaid) {
  RecordOptions options;
  options.path = folder + "/nothing";
  std::ostringstream out, err;
  EXPECT_EQ(run_record_info(options, out, err), 1);
  EXPECT_NE(err.str().find("nothing"), std::string::npos);
  options.path = write("text", "no recording, but long enough to be read as the header of one");
  EXPECT_EQ(run_record_export(options, out, err), 1);
  EXPECT_NE(err.str().find("it is no recording"), std::string::npos) << err.str();
  options.from = "yesterday";
  EXPECT_EQ(run_record_export(options, out, err), 2);
  options.from = {};
  options.kinds = "attempt,plans";
  EXPECT_EQ(run_record_export(options, out, err), 2);
  EXPECT_NE(err.str().find("plans is no kind of record"), std::string::npos);
  EXPECT_EQ(replay(options.path), 1);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace berth::app
