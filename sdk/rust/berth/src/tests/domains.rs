// SPDX-License-Identifier: Apache-2.0
//! Answers by domain, against the host in memory.
use super::*;

/// One pod per zone at most, and the fewer pods in a zone the better; counts are told by the node's number of pods.
struct Zones {
    labels: Labels,
    zone: Id,
    pods: Column<i64>,
    kept: Mutex<(DomainTables, Option<DomainValues>)>,
}
policy!(Zones, |setup| {
    let intern: Intern = setup.service()?;
    setup.pod_fields(PodFields::PRIORITY)?;
    Ok(Zones { labels: setup.service()?, zone: intern.id("zone")?, pods: setup.pods()?, kept: Mutex::default() })
});
impl PreFilter for Zones {
    fn pre_filter(&self, cycle: &Cycle<'_>, _: &mut Candidates<'_>) -> Result<Prepared, Error> {
        let (tables, values) = &mut *self.kept.lock().unwrap();
        let table = tables.get(&self.labels, cycle, self.zone)?;
        let is_same = values.as_ref().map_or(false, |values| Arc::ptr_eq(values.table(), &table));
        if !is_same {
            *values = Some(DomainValues::new(table.clone()));
        }
        let values = values.as_mut().ok_or("no values")?;
        // Each attempt puts one pod more on the first node.
        values.add(table.at(0), 1);
        Ok(Prepared::with((is_same, table.size(), values.values().iter().sum::<i64>())))
    }
}
impl Filter for Zones {
    fn filter(&self, _: &Cycle<'_>, nodes: &mut FilterBlock<'_>) -> Result<(), Error> {
        nodes.column(self.pods).map(|_| ())
    }
}
impl Score for Zones {
    fn score(&self, cycle: &Cycle<'_>, nodes: &mut ScoreBlock<'_>) -> Result<(), Error> {
        let (is_same, size, sum) = *cycle.state::<(bool, usize, i64)>().ok_or("no state")?;
        nodes.scores().fill(if is_same { sum } else { -(size as i64) });
        Ok(())
    }
}
impl FilterDomains for Zones {
    fn filter_columns(&self, cycle: &Cycle<'_>, columns: &mut DomainColumns<'_>) -> Result<bool, Error> {
        let mut kept = self.kept.lock().unwrap();
        let values = kept.1.as_mut().ok_or("no values")?;
        match cycle.pod().priority()? {
            1 => return Ok(false),
            2 => (0..17).try_for_each(|_| columns.add(values))?,
            3 => columns.add(&mut DomainValues::new(Arc::new(DomainTable::of_domains(vec![1]))))?,
            4 => columns.add_as(values, false)?,
            _ => columns.add(values)?,
        }
        // Changes are made to a copy from here on: the host sees what it was shown.
        values.add(1, 100);
        Ok(true)
    }
    fn filter_groups(&self, cycle: &Cycle<'_>, groups: &mut FilterGroups<'_>) -> Result<(), Error> {
        assert!(cycle.pod().priority()? != 5, "on purpose");
        self.kept.lock().unwrap().1.as_mut().ok_or("no values")?.add(1, -100);
        for group in 0..groups.count() {
            if groups.domain(0, group) == 0 || groups.value(0, group) > 1 {
                groups.reject(group);
            }
        }
        Ok(())
    }
}
impl ScoreDomains for Zones {
    fn score_columns(&self, cycle: &Cycle<'_>, columns: &mut DomainColumns<'_>) -> Result<ByDomain, Error> {
        match cycle.pod().priority()? {
            1 => return Ok(ByDomain::Impossible),
            2 => return Ok(ByDomain::Nothing),
            _ => {}
        }
        columns.add(self.kept.lock().unwrap().1.as_mut().ok_or("no values")?)?;
        columns.leave(7u8);
        Ok(ByDomain::Scores)
    }
    fn score_groups(&self, cycle: &Cycle<'_>, groups: &DomainGroups<'_>, scores: &mut [i64]) -> Result<(), Error> {
        assert_eq!(cycle.state::<u8>(), Some(&7));
        for (group, score) in scores.iter_mut().enumerate().filter(|(group, _)| groups.domain(0, *group) != 0) {
            *score = 10 * groups.value(0, group) + i64::from(groups.nodes(group));
        }
        Ok(())
    }
}

fn nodes() -> [Node; 4] {
    let of = |zone| Node::new("n").label("zone", zone);
    [of("east"), of("west"), of("east"), Node::new("none")]
}
fn of(priority: i64) -> PodSpec {
    PodSpec { priority, ..PodSpec::default() }
}

#[test]
fn groups_of_nodes_are_judged_by_the_values_of_their_domains() {
    let policy = Policy::new(describe!(Zones), "").unwrap();
    assert_eq!(policy.points(), ["berth.prepare/1", "berth.filter/1", "berth.score/1", "berth.domains/1"]);
    let mut first = policy.attempt(&of(0), &nodes());
    first.pre_filter().unwrap();
    assert_eq!(first.filter_by_domains(), Ok(Some(vec![true, true, true, false])));
    // east has one pod and two nodes, west none and one.
    assert_eq!(first.score_by_domains(), Ok(Some(vec![12, 1, 12, 0])));
    let mut second = policy.attempt(&of(4), &nodes());
    second.pre_filter().unwrap();
    assert_eq!(second.score(), Ok(vec![2; 4]));
    assert_eq!(second.filter_by_domains(), Ok(Some(vec![false, true, false, false])));
}

#[test]
fn a_table_is_made_again_when_a_label_changes_and_values_start_from_0() {
    let policy = Policy::new(describe!(Zones), "").unwrap();
    let mut first = policy.attempt(&of(0), &nodes());
    first.pre_filter().unwrap();
    assert_eq!(first.score(), Ok(vec![-3; 4]));
    let moved = [Node::new("n").label("zone", "east"), Node::new("n").label("zone", "east")];
    let mut second = policy.attempt(&of(0), &moved);
    second.pre_filter().unwrap();
    assert_eq!(second.score(), Ok(vec![-2; 2]));
}

#[test]
fn a_pod_without_columns_too_many_of_them_and_a_panic_are_told_apart() {
    let policy = Policy::new(describe!(Zones), "").unwrap();
    let at = |priority| {
        let mut attempt = policy.attempt(&of(priority), &nodes());
        attempt.pre_filter().unwrap();
        (attempt.filter_by_domains(), attempt.score_by_domains())
    };
    assert_eq!(at(1), (Ok(None), Ok(None)));
    assert_eq!(at(2), (Ok(None), Ok(Some(vec![]))));
    assert_eq!(at(3).0, Ok(None));
    assert_eq!(at(5).0, Err("panicked: on purpose".into()));
}
