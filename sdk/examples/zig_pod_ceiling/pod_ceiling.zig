// SPDX-License-Identifier: Apache-2.0
//! example.com/PodCeiling
//!
//! Filter: a node with `maxPods` pods or more is rejected.
//! Score:  the fewer pods a node has, the higher; 0 from `maxPods` pods on.

const std = @import("std");
const builtin = @import("builtin");
// The header as it is installed: no struct and no constant is written again here.
const abi = @cImport(@cInclude("berth/plugin.h"));

const PodCeiling = struct {
    pods: u32, // index of the column
    max_pods: i64,

    fn isFull(self: PodCeiling, pods: i64) bool {
        return pods >= self.max_pods;
    }

    fn scoreOf(self: PodCeiling, pods: i64) i64 {
        return abi.BERTH_SCORE_MAX - @divTrunc(abi.BERTH_SCORE_MAX * @min(pods, self.max_pods), self.max_pods);
    }
};

/// A panic has no way back into the host: it ends the process, which says whose code ran.
pub fn panic(message: []const u8, _: ?*std.builtin.StackTrace, _: ?usize) noreturn {
    _ = std.c.write(2, message.ptr, message.len);
    std.c.abort();
}

/// The args are compact JSON that has passed the schema below: one integer, its default filled in.
fn maxPodsOf(args: []const u8) ?i64 {
    const start = "{\"maxPods\":";
    if (!std.mem.startsWith(u8, args, start) or !std.mem.endsWith(u8, args, "}")) return null;
    const max_pods = std.fmt.parseInt(i64, args[start.len .. args.len - 1], 10) catch return null;
    return if (max_pods > 0) max_pods else null;
}

fn policyOf(self: ?*anyopaque) *const PodCeiling {
    return @ptrCast(@alignCast(self.?));
}

fn podsOf(policy: *const PodCeiling, block: [*c]const abi.berth_node_block_v1) []const i64 {
    const column: [*]const i64 = @ptrCast(@alignCast(block.*.columns[policy.pods].?));
    return column[0..block.*.rows];
}

/// Once for each use in a profile. What is not asked for here is not there later.
fn create(_: [*c]const abi.berth_host_v1, binder: [*c]const abi.berth_binder_v1, args: abi.berth_str, out: [*c]?*anyopaque, _: [*c]abi.berth_note_v1) callconv(.C) abi.berth_code {
    const text = if (args.len == 0) "" else args.ptr[0..args.len];
    const max_pods = maxPodsOf(text) orelse return abi.BERTH_BAD_ARGS;
    const pods = binder.*.column.?(binder.*.ctx, abi.BERTH_COL_PODS, .{ .ptr = null, .len = 0 });
    if (pods == abi.BERTH_NO_COLUMN) return abi.BERTH_TOO_OLD;
    const policy = std.heap.c_allocator.create(PodCeiling) catch return abi.BERTH_ERROR;
    policy.* = .{ .pods = pods, .max_pods = max_pods };
    out.* = policy;
    return abi.BERTH_OK;
}

fn destroy(self: ?*anyopaque) callconv(.C) void {
    std.heap.c_allocator.destroy(policyOf(self));
}

/// `pass` has one bit per row, set for the nodes that are asked about.
fn filter(self: ?*anyopaque, cycle: [*c]const abi.berth_cycle_v1, block: [*c]const abi.berth_node_block_v1, out: [*c]abi.berth_filter_out_v1, _: [*c]abi.berth_note_v1) callconv(.C) abi.berth_code {
    const policy = policyOf(self);
    const wants_reasons = cycle.*.flags & abi.BERTH_CYCLE_WANT_REASONS != 0;
    for (podsOf(policy, block), 0..) |pods, row| {
        if (!policy.isFull(pods)) continue;
        out.*.pass[row / 64] &= ~(@as(u64, 1) << @intCast(row % 64));
        if (wants_reasons) out.*.reasons[row] = 1;
    }
    return abi.BERTH_OK;
}

fn score(self: ?*anyopaque, _: [*c]const abi.berth_cycle_v1, block: [*c]const abi.berth_node_block_v1, raw: [*c]i64, _: [*c]abi.berth_note_v1) callconv(.C) abi.berth_code {
    const policy = policyOf(self);
    for (podsOf(policy, block), 0..) |pods, row| raw[row] = policy.scoreOf(pods);
    return abi.BERTH_OK;
}

const filter_ops = abi.berth_filter_ops_v1{ .struct_size = @sizeOf(abi.berth_filter_ops_v1), .filter = filter };
const score_ops = abi.berth_score_ops_v1{
    .struct_size = @sizeOf(abi.berth_score_ops_v1),
    .normalize_kind = abi.BERTH_NORM_NONE,
    .score = score,
};
// When a rejected pod may be worth another attempt: a pod goes, or a node comes.
const interests = [_]abi.berth_interest_v1{
    .{ .resource = abi.BERTH_KIND_POD, .actions = abi.BERTH_ACTION_DELETE },
    .{ .resource = abi.BERTH_KIND_NODE, .actions = abi.BERTH_ACTION_ADD },
};
const requeue_ops = abi.berth_requeue_ops_v1{
    .struct_size = @sizeOf(abi.berth_requeue_ops_v1),
    .interest_count = interests.len,
    .interests = &interests,
};
const points = [_]abi.berth_point_v1{
    .{ .id = "berth.filter/1", .ops = &filter_ops },
    .{ .id = "berth.score/1", .ops = &score_ops },
    .{ .id = "berth.requeue/1", .ops = &requeue_ops },
};
// Row 0 is no reason.
const reasons = [_]abi.berth_reason_text_v1{
    .{ .text = "", .code = "" },
    .{ .text = "node(s) had as many pods as they should", .code = "Crowded" },
};
const plugin = abi.berth_plugin_v1{
    .struct_size = @sizeOf(abi.berth_plugin_v1),
    .name = "example.com/PodCeiling",
    .version = "1.0.0",
    .summary = "Keeps nodes from being crowded with pods.",
    // berth checks the args against this before create() runs, and fills in the defaults.
    .args_schema =
    \\{"type": "object", "additionalProperties": false, "properties": {
    \\  "maxPods": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 50,
    \\              "description": "pods on a node that get no company"}}}
    ,
    .points = &points,
    .point_count = points.len,
    .reasons = &reasons,
    .reason_count = reasons.len,
    .deps = abi.BERTH_DEP_NODE_USAGE,
    .create = create,
    .destroy = destroy,
};
const plugins = [_][*c]const abi.berth_plugin_v1{&plugin};
const library = abi.berth_library_v1{
    .struct_size = @sizeOf(abi.berth_library_v1),
    .abi_minor_built = abi.BERTH_ABI_MINOR,
    .abi_minor_required = abi.BERTH_MINOR_REQUIRED,
    .plugin_count = plugins.len,
    .plugins = &plugins,
};

export fn berth_library_entry_v1() *const abi.berth_library_v1 {
    return &library;
}

// The identity note. BERTH_NOTE makes it in C; berth/abi/note.h says what is in it.
const note_text = "plugin=example.com/PodCeiling\x00version=1.0.0\x00points=berth.filter/1\x00" ++
    "points=berth.score/1\x00points=berth.requeue/1\x00sdk=" ++ abi.BERTH_SDK_VERSION ++
    "\x00compiler=zig " ++ builtin.zig_version_string ++ "\x00isa=" ++ abi.BERTH_NOTE_ISA ++ "\x00";
const note_text_cap = (note_text.len + 3) / 4 * 4;
const IdentityNote = extern struct {
    name_size: u32 = abi.BERTH_NOTE_OWNER.len + 1,
    desc_size: u32 = 8 + note_text.len,
    type: u32 = abi.BERTH_NOTE_TYPE,
    owner: [8]u8 = (abi.BERTH_NOTE_OWNER ++ "\x00" ** 3).*,
    major: u16 = abi.BERTH_ABI_MAJOR,
    minor_built: u16 = abi.BERTH_ABI_MINOR,
    minor_required: u16 = abi.BERTH_MINOR_REQUIRED,
    data_model: u16 = abi.BERTH_DATA_MODEL,
    text: [note_text_cap]u8 = (note_text ++ "\x00" ** (note_text_cap - note_text.len)).*,
};
export const berth_note_pod_ceiling: IdentityNote align(4) linksection(abi.BERTH_NOTE_SECTION) = .{};

test "refuses nodes that have as many pods as they should" {
    const policy = PodCeiling{ .pods = 0, .max_pods = 4 };
    try std.testing.expect(!policy.isFull(3));
    try std.testing.expect(policy.isFull(4));
}

test "scores nodes with fewer pods higher" {
    const policy = PodCeiling{ .pods = 0, .max_pods = 4 };
    for ([_]i64{ 0, 1, 3, 4, 9 }, [_]i64{ 100, 75, 25, 0, 0 }) |pods, expected|
        try std.testing.expectEqual(expected, policy.scoreOf(pods));
}

test "reads the one integer of its args" {
    try std.testing.expectEqual(@as(?i64, 7), maxPodsOf("{\"maxPods\":7}"));
    try std.testing.expectEqual(@as(?i64, null), maxPodsOf("{\"maxPods\":0}"));
    try std.testing.expectEqual(@as(?i64, null), maxPodsOf(""));
}

test "a block is judged row by row" {
    var policy = PodCeiling{ .pods = 0, .max_pods = 2 };
    var pods: [70]i64 = undefined;
    for (&pods, 0..) |*each, row| each.* = @intCast(row % 3);
    const columns = [_]?*const anyopaque{&pods};
    var pass = [_]u64{ ~@as(u64, 0), 63 };
    var why = [_]u32{0} ** 128;
    var raw = [_]i64{-1} ** 70;
    const block = abi.berth_node_block_v1{ .rows = pods.len, .column_count = 1, .columns = &columns };
    const cycle = abi.berth_cycle_v1{ .flags = abi.BERTH_CYCLE_WANT_REASONS };
    var out = abi.berth_filter_out_v1{ .pass = &pass, .reasons = &why };
    try std.testing.expectEqual(@as(u32, abi.BERTH_OK), filter(&policy, &cycle, &block, &out, null));
    try std.testing.expectEqual(@as(u32, abi.BERTH_OK), score(&policy, &cycle, &block, &raw, null));
    for (pods, 0..) |count, row| {
        const passes = pass[row / 64] >> @intCast(row % 64) & 1 != 0;
        try std.testing.expectEqual(count < 2, passes);
        try std.testing.expectEqual(@as(u32, @intFromBool(count >= 2)), why[row]);
        try std.testing.expectEqual(100 - 50 * count, raw[row]);
    }
}
