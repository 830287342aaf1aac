// SPDX-License-Identifier: Apache-2.0
//! berth.domains/1 as the host calls it, and berth.labels/1.
use super::*;
use std::collections::BTreeMap;

// --- berth.labels/1 ---

unsafe extern "C" fn column(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1, key: u32) -> *const u32 {
    let mut memory = host(ctx).memory();
    let cluster = match memory.clusters.get(&(*cycle).cycle_id) {
        Some(cluster) => cluster.clone(),
        None => return std::ptr::null(),
    };
    let key = (sys::BERTH_COL_LABEL, memory.texts.get(key as usize).map_or(String::new(), |key| key.to_string()));
    let of = |node: &Node, memory: &mut Memory| node.texts.get(&key).map_or(0, |value| memory.id(value));
    let values: Box<[u32]> = cluster.nodes.iter().map(|node| of(node, &mut memory)).collect();
    let first = values.as_ptr();
    memory.label_columns.push(values); // boxed: it stays where it is
    first
}
unsafe extern "C" fn matches(
    ctx: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    requirement: *const sys::berth_requirement_v1,
    out: *mut u64,
    words: u64,
) -> u32 {
    let requirement = &*requirement;
    let first = column(ctx, cycle, requirement.key);
    let wanted = crate::abi::slice(requirement.values, u64::from(requirement.value_count));
    let out = crate::abi::slice_mut(out, words);
    out.fill(0);
    for (slot, value) in crate::abi::slice(first, u64::from((*cycle).slot_count)).iter().enumerate() {
        let suits = match requirement.op {
            sys::BERTH_OP_IN => *value != 0 && wanted.contains(value),
            sys::BERTH_OP_NOT_IN => !wanted.contains(value),
            sys::BERTH_OP_EXISTS => *value != 0,
            sys::BERTH_OP_DOES_NOT_EXIST => *value == 0,
            _ => return sys::BERTH_BAD_ARGS,
        };
        out[slot / 64] |= u64::from(suits) << (slot % 64);
    }
    sys::BERTH_OK
}
pub(super) static LABELS: sys::berth_labels_v1 =
    sys::berth_labels_v1 { struct_size: size::<sys::berth_labels_v1>(), reserved: 0, column: Some(column), match_: Some(matches) };

// --- berth.domains/1 ---

#[derive(Default)]
struct Named {
    columns: Vec<sys::berth_domain_column_v1>,
}
unsafe extern "C" fn add(ctx: *mut c_void, column: *const sys::berth_domain_column_v1) -> u32 {
    let named = &mut *(ctx as *mut Named);
    if named.columns.len() >= sys::BERTH_DOMAIN_COLUMNS_MAX as usize {
        return sys::BERTH_BAD_ARGS;
    }
    named.columns.push(*column);
    sys::BERTH_OK
}
/// Groups of the nodes that are alike in all columns, as the host shows them.
struct Grouped {
    group_of: Vec<usize>,        // by slot
    values: Vec<Vec<i64>>,       // by column and group
    domains: Vec<Vec<u32>>,      // likewise
    nodes: Vec<u32>,             // by group
}
impl Grouped {
    unsafe fn new(columns: &[sys::berth_domain_column_v1], rows: usize) -> Grouped {
        let mut grouped = Grouped {
            group_of: Vec::new(),
            values: vec![Vec::new(); columns.len()],
            domains: vec![Vec::new(); columns.len()],
            nodes: Vec::new(),
        };
        let mut by_key: BTreeMap<Vec<(u32, i64)>, usize> = BTreeMap::new();
        for slot in 0..rows {
            let key: Vec<(u32, i64)> = columns.iter().map(|column| {
                let domain = *column.domain_of.add(slot);
                let told_apart = column.flags & sys::BERTH_DOMAIN_TELL_APART != 0;
                match domain {
                    0 => (0, 0),
                    domain => (if told_apart { domain } else { 1 }, *column.values.add(domain as usize)),
                }
            }).collect();
            let group = *by_key.entry(key.clone()).or_insert(grouped.nodes.len());
            if group == grouped.nodes.len() {
                grouped.nodes.push(0);
                for (column, (domain, value)) in key.into_iter().enumerate() {
                    grouped.domains[column].push(domain);
                    grouped.values[column].push(value);
                }
            }
            grouped.nodes[group] += 1;
            grouped.group_of.push(group);
        }
        grouped
    }
    fn show<R>(&self, call: impl FnOnce(&sys::berth_domain_groups_v1) -> R) -> R {
        let values: Vec<*const i64> = self.values.iter().map(|values| values.as_ptr()).collect();
        let domains: Vec<*const u32> = self.domains.iter().map(|domains| domains.as_ptr()).collect();
        call(&sys::berth_domain_groups_v1 {
            struct_size: size::<sys::berth_domain_groups_v1>(),
            count: self.nodes.len() as u32,
            column_count: values.len() as u32,
            reserved: 0,
            values: values.as_ptr(),
            domains: domains.as_ptr(),
            nodes: self.nodes.as_ptr(),
        })
    }
}

impl Attempt<'_> {
    fn domain_ops(&self) -> &'static sys::berth_domain_ops_v1 {
        self.policy.ops("berth.domains/1").expect("the policy has no answers by domain")
    }
    fn named(named: &mut Named) -> sys::berth_domain_columns_v1 {
        let struct_size = size::<sys::berth_domain_columns_v1>();
        sys::berth_domain_columns_v1 { struct_size, reserved: 0, ctx: named as *mut Named as *mut c_void, add: Some(add) }
    }
    /// Whether each node passes, by its group. None: filter is asked instead, which a failure in filter_columns means, too.
    pub fn filter_by_domains(&mut self) -> Result<Option<Vec<bool>>, String> {
        let (ops, mut named, mut note) = (self.domain_ops(), Named::default(), Note::new());
        let out = Attempt::named(&mut named);
        let name = ops.filter_columns.expect("the policy filters by no domains");
        if unsafe { name(self.policy.this, &mut self.cycle, &out, &mut note.raw) } != sys::BERTH_OK {
            return Ok(None);
        }
        let grouped = unsafe { Grouped::new(&named.columns, self.rows) };
        let mut pass = vec![u64::MAX; grouped.nodes.len() / 64 + 1];
        let judge = ops.filter_groups.expect("the policy filters by no domains");
        let mut note = Note::new();
        let code = grouped.show(|raw| unsafe { judge(self.policy.this, &self.cycle, raw, pass.as_mut_ptr(), &mut note.raw) });
        if code != sys::BERTH_OK {
            return Err(note.said());
        }
        Ok(Some(grouped.group_of.iter().map(|group| pass[group / 64] >> (group % 64) & 1 != 0).collect()))
    }
    /// The score of each node, by its group. None: pre_score and score are asked instead; empty: the policy does not score.
    pub fn score_by_domains(&mut self) -> Result<Option<Vec<i64>>, String> {
        let (ops, mut named, mut note) = (self.domain_ops(), Named::default(), Note::new());
        let out = Attempt::named(&mut named);
        let name = ops.score_columns.expect("the policy scores by no domains");
        let mut scores = 1;
        if unsafe { name(self.policy.this, &mut self.cycle, &out, &mut scores, &mut note.raw) } != sys::BERTH_OK {
            return Ok(None);
        }
        if scores == 0 {
            return Ok(Some(Vec::new()));
        }
        let grouped = unsafe { Grouped::new(&named.columns, self.rows) };
        let mut raw_scores = vec![-1; grouped.nodes.len()];
        let judge = ops.score_groups.expect("the policy scores by no domains");
        let mut note = Note::new();
        let code = grouped.show(|raw| unsafe { judge(self.policy.this, &self.cycle, raw, raw_scores.as_mut_ptr(), &mut note.raw) });
        if code != sys::BERTH_OK {
            return Err(note.said());
        }
        Ok(Some(grouped.group_of.iter().map(|group| raw_scores[*group]).collect()))
    }
}
