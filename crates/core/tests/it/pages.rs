//! The pages of a world without a store: plain scans of what there is.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::envelope::Call;
use tenure_core::model::attempt::{AttemptState, EntryKind};
use tenure_core::model::dependency::DependencyKind;
use tenure_core::model::event::StoredEvent;
use tenure_core::model::ids::{ProjectKey, TaskId};
use tenure_core::model::task::{Body, Kind, LabelCount, Lifecycle, folded_title};
use tenure_core::search::excerpt::excerpt;
use tenure_core::working_set::records::Side;
use tenure_core::working_set::{Chosen, Completion, Found, Landings, Page, Rows};

use crate::world::World;

impl World {
    pub fn page(&self, page: &Page, call: &Call) -> Rows {
        let set = &self.set;
        match page {
            Page::Events { after, task, .. } => {
                let wanted = set.events.iter().filter(|stored| {
                    stored.event.number > *after && (task.is_none() || stored.event.task == *task)
                });
                Rows::Events(wanted.cloned().collect(), false)
            }
            Page::NewestEvents { task, count } => {
                let wanted =
                    set.events.iter().rev().filter(|stored| task.is_none() || stored.event.task == *task);
                let mut newest: Vec<_> = wanted.take(*count as usize).cloned().collect();
                newest.reverse();
                Rows::Events(newest, false)
            }
            Page::Happened { project, kinds, after, count } => {
                let mut newest: BTreeMap<TaskId, StoredEvent> = BTreeMap::new();
                for stored in set.events.iter().filter(|stored| {
                    let event = &stored.event;
                    event.number > *after
                        && event.project.as_ref() == Some(project)
                        && kinds.contains(&event.kind)
                }) {
                    newest.extend(stored.event.task.clone().map(|task| (task, stored.clone())));
                }
                let total = newest.len() as u64;
                let mut events: Vec<_> = newest.into_values().collect();
                events.sort_by_key(|stored| std::cmp::Reverse(stored.event.number));
                events.truncate(*count as usize);
                Rows::Happened(events, total)
            }
            Page::Before { moment } => {
                let last = set.events.iter().rfind(|stored| stored.event.wall_time < *moment);
                Rows::Events(last.cloned().into_iter().collect(), false)
            }
            Page::Accounts { after, count } => {
                let names = set.accounts.rows().map(|account| account.name.clone());
                let later = names.filter(|name| after.as_ref().is_none_or(|after| name > after));
                Rows::Accounts(later.take(*count as usize).collect())
            }
            Page::Tokens { after, count } => {
                let ids = set.tokens.rows().map(|token| token.id.clone());
                let later = ids.filter(|id| after.as_ref().is_none_or(|after| id > after));
                Rows::Tokens(later.take(*count as usize).collect())
            }
            Page::Kept { project, .. } => {
                let open = set.blockers.rows().filter(|blocker| blocker.resolved_at.is_none());
                let tasks: BTreeSet<TaskId> = open.map(|blocker| blocker.task.clone()).collect();
                Rows::Tasks(tasks.into_iter().filter(|task| task.project == *project).collect())
            }
            Page::Tasks { project, queues, after, .. } => {
                let mut ids: Vec<TaskId> = set
                    .tasks
                    .rows()
                    .filter(|task| task.id.project == *project && task.id.number > *after)
                    .filter(|task| queues.contains(&task.queue()))
                    .map(|task| task.id.clone())
                    .collect();
                ids.sort_by_key(|id| id.number);
                Rows::Tasks(ids)
            }
            Page::Labelled { project, labels, queues, after, .. } => {
                let bodies = set.bodies.rows().filter(|body| {
                    let in_place = body.task.project == *project && body.task.number > *after;
                    in_place && labels.iter().all(|label| body.details.labels.contains(label))
                });
                let tasks = bodies.filter_map(|body| set.tasks.get(&body.task).flatten());
                let mut ids: Vec<TaskId> =
                    tasks.filter(|task| queues.contains(&task.queue())).map(|task| task.id.clone()).collect();
                ids.sort_by_key(|id| id.number);
                Rows::Tasks(ids)
            }
            Page::Found { query, project, queues, count } => {
                // A plain scan. What answers a word in the body or else in the first entry is told; nothing is ranked.
                let wanted = |task: &&Body| {
                    let row = set.tasks.get(&task.task).flatten();
                    project.as_ref().is_none_or(|project| task.task.project == *project)
                        && row.is_some_and(|row| queues.contains(&row.queue()))
                };
                let mut found = Vec::new();
                for body in set.bodies.rows().filter(wanted) {
                    let entries = set.entries.known(&body.task);
                    let own = [body.title.as_str(), body.description.as_str()];
                    let texts: Vec<&str> =
                        own.into_iter().chain(entries.iter().map(|entry| entry.text.as_str())).collect();
                    if query.is_answered_by(&texts) {
                        let any = |text: &str| excerpt(text, query).is_some();
                        let entry = entries.iter().find(|entry| any(&entry.text)).map(|entry| entry.number);
                        let entry = entry.filter(|_| !own.into_iter().any(any));
                        found.push(Found { task: body.task.clone(), entry });
                    }
                }
                let total = found.len() as u64;
                found.truncate(*count as usize);
                Rows::Found(found, total)
            }
            Page::Completions { of, missing, after, .. } => {
                let below = |root: &TaskId| {
                    let mut found = vec![root.clone()];
                    let mut next = 0;
                    while let Some(of) = found.get(next).cloned() {
                        let edges = set.dependencies.known(&Side::On(of)).into_iter();
                        let children = edges.filter(|edge| edge.kind == DependencyKind::Parent);
                        let new: Vec<_> =
                            children.map(|e| e.task.clone()).filter(|t| !found.contains(t)).collect();
                        found.extend(new);
                        next += 1;
                    }
                    found
                };
                let labelled = |project: &ProjectKey, label: &String| {
                    let bodies = set.bodies.rows().filter(|body| body.task.project == *project);
                    let bodies = bodies.filter(|body| body.details.labels.contains(label));
                    bodies.map(|body| body.task.clone()).collect()
                };
                let tasks = match of {
                    Chosen::Labelled(project, label) => labelled(project, label),
                    Chosen::Below(root) => below(root),
                    Chosen::Named(tasks) => tasks.clone(),
                };
                let (mut landings, mut found) = (Landings::default(), Vec::new());
                for id in tasks {
                    let task = set.tasks.get(&id).flatten().expect("a task that is chosen exists");
                    let mut entries = set.entries.known(&id).into_iter();
                    let last = entries.rfind(|entry| entry.kind == EntryKind::Completion);
                    let has_commit = last.is_some_and(|entry| entry.data.evidence.landed_in().is_some());
                    let is_objective = task.kind == Kind::Objective;
                    match task.lifecycle {
                        Lifecycle::Planned | Lifecycle::Open => landings.unfinished += 1,
                        Lifecycle::Cancelled => landings.cancelled += 1,
                        Lifecycle::Done if has_commit => landings.landed += 1,
                        Lifecycle::Done if is_objective => {}
                        Lifecycle::Done => landings.missing += 1,
                    }
                    if task.lifecycle == Lifecycle::Done
                        && has_commit != *missing
                        && !(is_objective && *missing)
                    {
                        found.push(Completion { task: id, entry: last.map(|entry| entry.number) });
                    }
                }
                found.sort_by_key(|completion| (completion.number(), completion.task.clone()));
                found.retain(|one| {
                    after.as_ref().is_none_or(|after| (one.number(), &one.task) > (after.0, &after.1))
                });
                Rows::Completions(found, landings)
            }
            Page::Labels { project, after, count } => {
                let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
                for body in set.bodies.rows().filter(|body| body.task.project == *project) {
                    let task = set.tasks.get(&body.task).flatten().expect("a body belongs to a task");
                    for label in body.details.labels.iter().collect::<BTreeSet<_>>() {
                        let (unfinished, finished) = counts.entry(label.clone()).or_default();
                        *if task.lifecycle.is_finished() { finished } else { unfinished } += 1;
                    }
                }
                let rest = counts.into_iter().filter(|(label, _)| label > after).take(*count as usize);
                let count = |(label, (unfinished, finished))| LabelCount { label, unfinished, finished };
                Rows::Labels(rest.map(count).collect())
            }
            Page::Edges { side, kind, after, count } => {
                let known = set.dependencies.known(side).into_iter().filter(|edge| edge.kind == *kind);
                let mut edges: Vec<_> = known.cloned().collect();
                edges.sort_by(|a, b| side.other(a).cmp(side.other(b)));
                let total = edges.len() as u64;
                edges.retain(|edge| after.as_ref().is_none_or(|after| side.other(edge) > after));
                edges.truncate(*count as usize);
                Rows::Edges(edges, total)
            }
            Page::OpenChild { of } => {
                let edges = set.dependencies.known(&Side::On(of.clone())).into_iter();
                let required = edges.filter(|edge| edge.kind == DependencyKind::Parent && !edge.optional);
                let children = required.filter_map(|edge| set.tasks.get(&edge.task).flatten());
                let open = children.filter(|child| !child.lifecycle.is_finished());
                Rows::Tasks(open.map(|child| child.id.clone()).take(1).collect())
            }
            Page::Titled { project, title } => {
                let same = set
                    .bodies
                    .rows()
                    .filter(|body| body.task.project == *project && folded_title(&body.title) == *title);
                Rows::Tasks(same.map(|body| body.task.clone()).collect())
            }
            Page::Projects => {
                Rows::Projects(set.projects.rows().map(|project| project.key.clone()).collect())
            }
            Page::ProjectsAfter { after, count } => {
                let mut keys: Vec<ProjectKey> =
                    set.projects.rows().map(|project| project.key.clone()).collect();
                keys.sort();
                keys.retain(|key| after.as_ref().is_none_or(|after| key > after));
                keys.truncate(*count as usize);
                Rows::Projects(keys)
            }
            Page::Sessions { .. } => {
                Rows::Sessions(set.sessions.rows().filter(|s| s.open).map(|s| s.id.clone()).collect())
            }
            Page::AgedReceipts { before, .. } => {
                let aged =
                    set.receipts.rows().filter(|receipt| receipt.at < *before && receipt.answer.is_some());
                Rows::Receipts(aged.map(|r| (r.principal.clone(), r.operation_id.clone())).collect())
            }
            Page::Overdue { .. } => {
                let overdue = set.tasks.rows().filter(|task| {
                    let attempt = task.current_attempt().and_then(|id| set.attempts.get(&id).flatten());
                    attempt.is_some_and(|a| a.state == AttemptState::Active && !a.is_live(call.now.fleet))
                        || task.deferred_until.is_some_and(|until| until <= call.now.wall)
                });
                Rows::Tasks(overdue.map(|task| task.id.clone()).collect())
            }
        }
    }
}
