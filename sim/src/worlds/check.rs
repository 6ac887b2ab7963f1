//! The promises, checked from rows and from what agents were told, with no rule's help.

use tenure_core::model::attempt::{Attempt, AttemptState};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::task::Lifecycle;

use super::agent::Sent;
use super::step::{Ask, Step, TASKS, session, task};
use super::world::{Taken, World};
use crate::untimed::untimed;

/// A promise that does not hold, in words.
pub type Broken = String;

/// Checks a step: the state it led to, and what it did.
pub fn step(before: &World, step: Step, taken: &Taken) -> Result<(), Broken> {
    one_owner(&taken.after)?;
    time(before, &taken.after, step)?;
    nothing_comes_back(&taken.after)?;
    let (Step::Agent(agent, ask, _), Some((sent, answer))) = (step, &taken.told) else { return Ok(()) };
    if sent.incarnation < before.incarnation {
        let code = answer.as_ref().err().map(|refusal| refusal.code);
        if code != Some(Code::EpochChanged) {
            let how = code.map_or("accepted", |code| code.as_str());
            return Err(format!("P8: a request from before the restore was not refused as such: {how}"));
        }
    }
    match answer {
        _ if ask == Ask::Again => repeated(before, taken, agent, sent, answer),
        Err(refusal) => refused(before, taken, sent, refusal),
        Ok(answer) => accepted(before, taken, agent, sent, answer),
    }
}

/// What was accepted was right to be.
fn accepted(before: &World, taken: &Taken, agent: usize, sent: &Sent, answer: &str) -> Result<(), Broken> {
    match sent.ask {
        Ask::Claim(_) | Ask::ClaimNext => claimed(before, taken, agent, answer),
        Ask::Heartbeat | Ask::Checkpoint | Ask::Close | Ask::Release | Ask::HandOff | Ask::Dispose => {
            held(before, taken, agent, sent)
        }
        Ask::Open => Ok(()),
        Ask::Again => unreachable!("what is sent again keeps what was asked first"),
    }
}

/// P1: at most one current attempt per task, and it is the one that the task names.
fn one_owner(world: &World) -> Result<(), Broken> {
    for index in 0..TASKS {
        let id = task(index);
        let current: Vec<&Attempt> = of(world, index).filter(|attempt| attempt.current).collect();
        let row = &world.rows.tasks[&id];
        let fits = match current.as_slice() {
            [] => !row.held,
            [attempt] => row.held && attempt.id.generation == row.generation,
            _ => false,
        };
        if !fits {
            return Err(format!("P1: {id} has {} current attempts at {:?}", current.len(), row.generation));
        }
    }
    Ok(())
}

/// P6: what is committed of the time never goes back, and no event number does.
fn time(before: &World, after: &World, step: Step) -> Result<(), Broken> {
    let (was, is) = (&before.rows.fleet, &after.rows.fleet);
    if is.time < was.time || is.event < was.event || (step == Step::Restore && is.event == was.event) {
        return Err(format!(
            "P6: after `{step}` the fleet stands at {:?}, before at {:?}",
            is.time, was.time
        ));
    }
    Ok(())
}

/// P6: a lease that was seen to have ended gives no authority any more.
fn nothing_comes_back(world: &World) -> Result<(), Broken> {
    for index in 0..TASKS {
        for attempt in of(world, index).filter(|attempt| attempt.current) {
            let was_over = world.ended[index] & (1 << attempt.id.generation.0) != 0;
            let lives = attempt.state == AttemptState::Active && attempt.deadline.0 > world.truth.0;
            if was_over && lives {
                return Err(format!("P6: {} lives again after its lease had ended", attempt.id));
            }
        }
    }
    Ok(())
}

/// P4: a refusal has no effect and leaves no receipt.
fn refused(before: &World, taken: &Taken, sent: &Sent, refusal: &Refusal) -> Result<(), Broken> {
    let id = sent.command.envelope.operation_id.as_ref();
    if taken.after.rows.receipts.keys().any(|(_, receipt)| Some(receipt) == id) {
        return Err(format!("P4: refused with {}, and there is a receipt", refusal.code));
    }
    if before.rows.same_work(&taken.after.rows) {
        return Ok(());
    }
    Err(format!("P4: refused with {}, and something changed all the same", refusal.code))
}

/// P1, P2, P8: a claim takes what nobody has, with a generation that was never given before, once the task is ready.
fn claimed(before: &World, taken: &Taken, agent: usize, answer: &str) -> Result<(), Broken> {
    let answer: serde_json::Value = serde_json::from_str(answer).expect("answers are JSON");
    let attempt = answer["attempt"].as_str().unwrap_or_default().to_owned();
    let Some(granted) = taken.after.rows.attempts.values().find(|row| row.id.to_string() == attempt) else {
        return Err(format!("P1: {attempt} was granted and is not there"));
    };
    let index = usize::try_from(granted.id.task.number - 1).expect("a small number");
    if !granted.current || granted.session != session(agent, before.agents[agent].session) {
        return Err(format!("P1: {attempt} was granted and belongs to somebody else"));
    }
    let live =
        |row: &&Attempt| row.current && row.state == AttemptState::Active && row.deadline.0 > taken.moment.0;
    if answer["resumed"] == true {
        let was_its_own = of(before, index).any(|row| row.id == granted.id && live(&row));
        return if was_its_own { Ok(()) } else { Err(format!("P3: {attempt} was resumed and was over")) };
    }
    if let Some(other) = of(before, index).find(live) {
        return Err(format!("P1: {attempt} was granted while {} was live", other.id));
    }
    if granted.id.generation.0 <= before.granted[index] {
        return Err(format!("P8: {attempt} was granted before"));
    }
    if index > 0 && before.rows.tasks[&task(index - 1)].lifecycle != Lifecycle::Done {
        return Err(format!("{attempt} was granted before {} is done", task(index - 1)));
    }
    Ok(())
}

/// P3, P8: a holder's write is accepted from the holder, of the current generation, before the deadline, and in the
/// incarnation that granted it.
fn held(before: &World, taken: &Taken, agent: usize, sent: &Sent) -> Result<(), Broken> {
    let fence = sent.command.envelope.fence.as_ref().expect("a holder's request names its attempt");
    let id = &fence.attempt;
    let Some(attempt) = before.rows.attempts.get(id) else {
        return Err(format!("P3: a write for {id} was accepted, and there is no such attempt"));
    };
    let reasons = [
        (!attempt.current, "it was not current"),
        (attempt.state != AttemptState::Active, "it had ended"),
        (attempt.session != session(agent, before.agents[agent].session), "it belongs to somebody else"),
        (taken.moment.0 >= attempt.deadline.0, "its lease had ended"),
    ];
    match reasons.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(format!("P3: a write for {id} was accepted although {why}")),
        None => Ok(()),
    }
}

/// P4: what was accepted is answered the same again and has no second effect. What was not is decided anew.
fn repeated(
    before: &World,
    taken: &Taken,
    agent: usize,
    sent: &Sent,
    answer: &Result<String, Refusal>,
) -> Result<(), Broken> {
    let unchanged = before.rows.same_work(&taken.after.rows);
    let Some(accepted) = &sent.accepted else {
        // Nothing had happened: it is as good as a first request.
        return match answer {
            Err(refusal) => refused(before, taken, sent, refusal),
            Ok(answer) => accepted(before, taken, agent, sent, answer),
        };
    };
    if !unchanged {
        return Err("P4: a request had a second effect".to_owned());
    }
    match answer {
        // A heartbeat keeps no receipt: it is repeated in vain once the lease is over.
        Err(_) if sent.ask == Ask::Heartbeat => Ok(()),
        Err(refusal) if refusal.code == Code::EpochChanged && sent.incarnation < before.incarnation => Ok(()),
        Err(refusal) => Err(format!("P4: what was done before is refused now: {}", refusal.code)),
        Ok(answer) if accepted.is_empty() || same(answer, accepted) => Ok(()),
        Ok(answer) => Err(format!("P4: answered differently: {accepted} and {answer}")),
    }
}

/// Whether two answers say the same, what is left of the lease aside.
fn same(left: &str, right: &str) -> bool {
    let read = |text: &str| untimed(text).expect("answers are JSON");
    read(left) == read(right)
}

/// The attempts of a task.
fn of(world: &World, index: usize) -> impl Iterator<Item = &Attempt> {
    let id = task(index);
    world.rows.attempts.values().map(AsRef::as_ref).filter(move |attempt| attempt.id.task == id)
}
