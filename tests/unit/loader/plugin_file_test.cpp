// SPDX-License-Identifier: Apache-2.0
#include "loader/plugin_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "loader/dynamic_library.hpp"
#include "loader/plugin_loader.hpp"

namespace berth::loader {
namespace {

namespace fs = std::filesystem;

TEST(Sha256, IsTheOneOfTheStandard) {
  const std::string text = "abc";
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(text.data(), text.size()))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(DlopenError, IsTranslated) {
  struct Case {
    std::string sentence;
    std::string code;
    std::string evidence;
  };
  PluginFile file;
  file.path = "/plugins/a.so";
  for (const Case& given :
       {Case{"/lib/libc.so.6: version `GLIBC_2.38' not found (required by /plugins/a.so)", "P022", "needs GLIBC_2.38"},
        Case{"/plugins/a.so: undefined symbol: _ZN1a1bEv, version V1", "P021", "needs a::b()"},
        Case{"/plugins/a.so: undefined symbol: tie", "P021", "needs tie"},
        Case{"libfoo.so.3: cannot open shared object file: No such file or directory", "P020",
             "needs libfoo.so.3, which is in none of the places where the system looks for libraries"},
        Case{"/plugins/a.so: cannot allocate memory in static TLS block", "P023",
             "dlopen: /plugins/a.so: cannot allocate memory in static TLS block"},
        Case{"/plugins/a.so: cannot open shared object file: Permission denied", "P024",
             "dlopen: /plugins/a.so: cannot open shared object file: Permission denied"},
        Case{"something new", "P024", "dlopen: something new"}}) {
    const Finding finding = translate_dlopen_error(file, given.sentence);
    EXPECT_EQ(finding.code, given.code) << given.sentence;
    ASSERT_FALSE(finding.evidence.empty());
    EXPECT_EQ(finding.evidence.front(), given.evidence);
    EXPECT_EQ(finding.evidence.back(), "dlopen: " + given.sentence);
  }
}

FileRules rules_of_this_machine() {
  FileRules rules;
  rules.machine = HostMachine::of_this_process();
  rules.compare_services = false;
  return rules;
}

class PluginDirectoryTest : public testing::Test {
 protected:
  PluginDirectoryTest() {
    std::string pattern = (fs::temp_directory_path() / "berth-loader-XXXXXX").string();
    top_ = fs::canonical(::mkdtemp(pattern.data()));
  }
  ~PluginDirectoryTest() override { fs::remove_all(top_); }
  void put_good_plugin() const {
    fs::copy_file(BERTH_GOOD_PLUGIN, top_ / "good.so", fs::copy_options::overwrite_existing);
    ::chmod((top_ / "good.so").c_str(), 0644);
  }
  fs::path top_;
};

// What minisign 0.11 makes of a file with these bytes; signature_test.cpp has the rest.
constexpr const char* k_signed_bytes = "the bytes of a plugin\n";
constexpr const char* k_signing_key = "RWRf5XnpvOH+A59wvWf8Qaf4sdykSvFSfaj0g/PGSHf/Kp+Dvc+hLP89";
constexpr const char* k_signature =
    "untrusted comment: signature from minisign secret key\n"
    "RURf5XnpvOH+A8IEg8798OwbZ7f4c7aLbc8m1wpRH3PJ2ZYerpHAlCy5R4ZKVcE3IGqEq+OOlQMm5hMIUJMwOoPEjJdV0Vnyxg8=\n"
    "trusted comment: plugin.so 1.2.0\n"
    "2imnP28/iYoNz9lX/FPu3E09BMAPJYbdwiKWvGuUd1KkfHTChdjh9e1Sfr1YxZfNpi4igln6cktcCR4Kal1rBQ==\n";

/// The evidence of the finding about the signature of `signed.so`; empty: there is no such finding.
std::vector<std::string> signature_problem(const fs::path& folder, const FileRules& rules,
                                           const std::string& pinned = {}) {
  const PluginFile file = judge_in_directory(folder / "signed.so", folder, pinned, "", rules);
  for (const Finding& finding : file.findings)
    if (finding.code == "P028") return finding.evidence;
  return {};
}

TEST_F(PluginDirectoryTest, ASignatureIsHeldAgainstTheKeysAndTheBytes) {
  const fs::path file = top_ / "signed.so", signature = top_ / "signed.so.minisig";
  std::ofstream(file) << k_signed_bytes;
  FileRules rules = rules_of_this_machine();
  std::ofstream(signature) << "nonsense";
  EXPECT_TRUE(signature_problem(top_, rules).empty()) << "without keys, signatures are not looked at";

  rules.public_keys.push_back(PublicKey::parse(k_signing_key).value());
  ASSERT_FALSE(signature_problem(top_, rules).empty());
  EXPECT_EQ(signature_problem(top_, rules)[0], signature.string() + ": it is no signature of minisign");
  std::ofstream(signature) << std::string(k_signature_bytes_max + 1, 'x');
  EXPECT_EQ(signature_problem(top_, rules).at(0), signature.string() + ": more than 4096 bytes");

  std::ofstream(signature) << k_signature;
  EXPECT_TRUE(signature_problem(top_, rules).empty());
  std::ofstream(file) << "other bytes\n";
  EXPECT_EQ(signature_problem(top_, rules).at(0), signature.string() + ": the file is not the one that was signed");
}

TEST_F(PluginDirectoryTest, StrictWantsASignatureOrADigest) {
  std::ofstream(top_ / "signed.so") << k_signed_bytes;
  FileRules rules = rules_of_this_machine();
  rules.public_keys.push_back(PublicKey::parse(k_signing_key).value());
  EXPECT_TRUE(signature_problem(top_, rules).empty());
  rules.strict = true;
  EXPECT_EQ(signature_problem(top_, rules).at(0),
            (top_ / "signed.so.minisig").string() + ": there is no such file, and strict: true wants one");
  EXPECT_TRUE(signature_problem(top_, rules, std::string(64, '0')).empty());
  fs::create_directory(top_ / "signed.so.minisig");
  EXPECT_EQ(signature_problem(top_, rules).at(0), (top_ / "signed.so.minisig").string() + ": not a regular file");
}

TEST_F(PluginDirectoryTest, IsTheFirstThatIsGiven) {
  fs::create_directories(top_ / "installed");
  fs::create_directories(top_ / "built");
  PluginDirectoryChoice choice{"flag",        "configured",       "berth.yaml:3:4",
                               "environment", top_ / "installed", top_ / "built"};
  EXPECT_EQ(choose(choice).path, "flag");
  choice.flag.clear();
  EXPECT_EQ(choose(choice).path, "configured");
  EXPECT_EQ(choose(choice).where, "berth.yaml:3:4");
  choice.configured.clear();
  EXPECT_EQ(choose(choice).path, "environment");
  choice.environment.clear();
  EXPECT_EQ(choose(choice).path, top_ / "installed");
  fs::remove(top_ / "installed");
  EXPECT_EQ(choose(choice).path, top_ / "built");
  EXPECT_EQ(choose(choice).chosen_by, "build tree");
  fs::remove(top_ / "built");
  EXPECT_EQ(choose(choice).path, top_ / "installed");
}

TEST_F(PluginDirectoryTest, MayNotBeStickyAndOpenToAll) {
  // The sticky bit keeps users from exchanging files of others, but every user can add one.
  for (const bool strict : {false, true}) {
    ::chmod(top_.c_str(), 01777);
    put_good_plugin();
    FileRules rules = rules_of_this_machine();
    rules.strict = strict;
    const PluginFile file = judge_in_directory(top_ / "good.so", top_, "", "", rules);
    ASSERT_EQ(file.findings.size(), 1u);
    EXPECT_EQ(file.findings[0].code, "P003");
    EXPECT_EQ(file.findings[0].evidence, std::vector<std::string>{top_.string() + ": mode 1777 lets others write"});
  }
}

/// In a process of its own: 0 the file was accepted, 1 refused, 2 mounting is not allowed on this machine.
int judge_on_read_only_mount(const fs::path& top, bool strict) {
  const uid_t uid = ::geteuid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 2;
    std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 2;
  if (::mount(top.c_str(), top.c_str(), nullptr, MS_BIND, nullptr) != 0) return 2;
  if (::mount(nullptr, top.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) return 2;
  FileRules rules = rules_of_this_machine();
  rules.strict = strict;
  return judge_in_directory(top / "good.so", top, "", "", rules).findings.empty() ? 0 : 1;
}

TEST_F(PluginDirectoryTest, MayBeWritableOnAReadOnlyMountUnlessStrict) {
  fs::copy_file(BERTH_GOOD_PLUGIN, top_ / "good.so");
  ::chmod(top_.c_str(), 0777);
  ::chmod((top_ / "good.so").c_str(), 0666);
  const auto ended_with = [&](bool strict) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(judge_on_read_only_mount(top_, strict));
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const int lenient = ended_with(false);
  if (lenient == 2) GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(lenient, 0);
  EXPECT_EQ(ended_with(true), 1) << "the other side of the mount may be writable";
}

TEST_F(PluginDirectoryTest, KeepsTheJudgedBytesWhereTheyCannotBeChanged) {
  put_good_plugin();
  FileRules rules = rules_of_this_machine();
  rules.seal = true;
  const PluginFile file = judge_in_directory(top_ / "good.so", top_, "", "", rules);
  ASSERT_TRUE(file.findings.empty()) << render(file.findings.front());
  ASSERT_GE(file.sealed.fd(), 0);
  std::vector<std::byte> kept(file.size_bytes);
  ASSERT_EQ(::pread(file.sealed.fd(), kept.data(), kept.size(), 0), static_cast<ssize_t>(kept.size()));
  EXPECT_EQ(sha256_hex(kept), file.sha256);
  EXPECT_EQ(::pwrite(file.sealed.fd(), "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(file.sealed.fd(), 0), -1);
  EXPECT_EQ(::fcntl(file.sealed.fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(PluginDirectoryTest, SaysWhenTheKernelCannotKeepThem) {
  put_good_plugin();
  FileRules rules = rules_of_this_machine();
  rules.seal = true;
  rules.kernel_seals = false;
  const PluginFile lenient = judge_in_directory(top_ / "good.so", top_, "", "", rules);
  EXPECT_TRUE(lenient.findings.empty());
  ASSERT_EQ(lenient.warnings.size(), 1u);
  EXPECT_EQ(lenient.warnings[0].rfind("BERTH-P026 ", 0), 0u) << lenient.warnings[0];
  const PluginFile pinned = judge_in_directory(top_ / "good.so", top_, lenient.sha256, "", rules);
  ASSERT_EQ(pinned.findings.size(), 1u);
  EXPECT_EQ(pinned.findings[0].code, "P026");
  rules.strict = true;
  const PluginFile strict = judge_in_directory(top_ / "good.so", top_, "", "", rules);
  ASSERT_EQ(strict.findings.size(), 1u);
  EXPECT_EQ(strict.findings[0].code, "P026");
}

TEST_F(PluginDirectoryTest, RefusesGroupWritableDirectoriesOnTheWay) {
  fs::create_directories(top_ / "a" / "b");
  ::chmod(top_.c_str(), 0755);
  ::chmod((top_ / "a").c_str(), 0775);
  ::chmod((top_ / "a" / "b").c_str(), 0755);
  fs::copy_file(BERTH_GOOD_PLUGIN, top_ / "a" / "b" / "good.so");
  ::chmod((top_ / "a" / "b" / "good.so").c_str(), 0444);
  FileRules rules = rules_of_this_machine();
  const PluginFile file = judge_in_directory(top_ / "a" / "b" / "good.so", top_, "", "", rules);
  ASSERT_EQ(file.findings.size(), 1u);
  EXPECT_EQ(file.findings[0].code, "P003");
  EXPECT_EQ(file.findings[0].evidence,
            std::vector<std::string>{(top_ / "a").string() + ": mode 0775 lets its group write"});
}

}  // namespace
}  // namespace berth::loader
