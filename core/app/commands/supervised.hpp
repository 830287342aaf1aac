// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

namespace berth::app {

/// Does the work in a child process, for commands whose exit status is their answer: a plugin can end the process that
/// it runs in with any status (_exit, the system call), and only another process can tell that from an answer.
///
/// Returns in the child, with the status of the work; the parent ends with that status when the child has given it. When
/// the child has ended before, the parent writes a BERTH-P030 that names the file or plugin that was running, unless the
/// child has reported itself, and ends with status 1 or by the signal that ended the child. Output is the child's own.
/// A plugin that means harm can still forge an answer; it runs with all rights of the process.
/// Where memory ends, the command does, with status 1 and a sentence.
/// Requires: no other thread has been started. Without a second process (fork fails) the work is done in this one.
int supervised(const std::function<int()>& work);

}  // namespace berth::app
