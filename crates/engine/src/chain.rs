//! The check of the record: no event was altered, removed, inserted or moved, and the receipts that are still
//! kept are those that the events vouch for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use tenure_core::model::account::{Account, Role};
use tenure_core::model::event::{Event, EventKind, Receipt, chain_hash};
use tenure_core::model::ids::{
    Anchor, Digest, Epoch, EventNumber, OperationId, PrincipalName, ReporterId, TokenId,
};
use tenure_core::model::reporter::Reporter;
use tenure_core::model::session::Principal;
use tenure_core::model::token::TokenRecord;
use tenure_core::working_set::receipt_digest;
use tenure_core::working_set::table::Table;

use crate::store::driver::{Driver, StoreError};
use crate::store::event::{EventRow, rows_after};
use crate::store::rows::Stored;
use crate::store::{fleet, receipt, rows};

/// The first schema that has accounts, tokens and reporters, and names as they are now.
const ACCOUNTS_SINCE: u32 = 5;
/// How many events are looked at at once.
const EVENTS: u32 = 1_000;

/// What the check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// How many events were found in order.
    pub events: u64,
    /// How many receipts were compared with their events.
    pub receipts: u64,
    /// The last event that was found in order.
    pub last: EventNumber,
    /// Its hash.
    pub head: Digest,
    /// The first thing that is wrong.
    pub flaw: Option<Flaw>,
}

/// The first thing that is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The event at which it shows.
    pub event: EventNumber,
    /// What is wrong with it.
    pub kind: FlawKind,
}

/// What is wrong with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlawKind {
    /// It is not there, and later ones are, or the fleet row says that it was.
    Missing,
    /// The fleet row knows nothing of it.
    Inserted,
    /// It does not carry on from the event before it: its bytes or its hash changed, or it stood elsewhere.
    Broken,
    /// Its bytes say another number, kind, project or task than its row, or another epoch than the event before it.
    Misplaced,
    /// It is the last one, and the fleet row has another hash.
    NotTheHead,
    /// The receipt of its operation is not the one that it vouches for.
    Receipt,
    /// It makes a first administrator, and there was one.
    FoundedAgain,
    /// The name that it tells of is nobody's.
    Principal,
    /// It is the last one, and there is a name that none tells of.
    UntoldPrincipal,
    /// The account that it tells of is not as it left it.
    Account,
    /// It is the last one, and there is an account that none tells of.
    UntoldAccount,
    /// The token that it tells of is not as it left it.
    Token,
    /// It is the last one, and there is a token that none tells of.
    UntoldToken,
    /// The reporter that it tells of is not as it left it.
    Reporter,
    /// It is the last one, and there is a reporter that none tells of.
    UntoldReporter,
    /// It was noted elsewhere, and the record ends before it.
    Cut,
    /// It was noted elsewhere, and a restore has left it behind.
    LeftBehind,
    /// It was noted elsewhere with another hash.
    Rewritten,
}

impl FlawKind {
    /// Its stable name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Inserted => "inserted",
            Self::Broken => "broken",
            Self::Misplaced => "misplaced",
            Self::NotTheHead => "not_the_head",
            Self::Receipt => "receipt",
            Self::FoundedAgain => "founded_again",
            Self::Principal => "principal",
            Self::UntoldPrincipal => "untold_principal",
            Self::Account => "account",
            Self::UntoldAccount => "untold_account",
            Self::Token => "token",
            Self::UntoldToken => "untold_token",
            Self::Reporter => "reporter",
            Self::UntoldReporter => "untold_reporter",
            Self::Cut => "cut",
            Self::LeftBehind => "left_behind",
            Self::Rewritten => "rewritten",
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = self.event;
        match self.kind {
            FlawKind::Missing => write!(f, "event {event} is missing"),
            FlawKind::Inserted => write!(f, "event {event} was never recorded by the coordinator"),
            FlawKind::Broken => write!(f, "event {event} was altered or does not follow the one before it"),
            FlawKind::Misplaced => write!(f, "event {event} says something else than the row it stands in"),
            FlawKind::NotTheHead => write!(f, "event {event} is not the one that was recorded last"),
            FlawKind::Receipt => write!(f, "the stored answer of event {event}'s operation was altered"),
            FlawKind::FoundedAgain => {
                write!(
                    f,
                    "event {event} made a first administrator, and there was one: accounts had been removed"
                )
            }
            FlawKind::Principal => write!(f, "the name that event {event} tells of was removed"),
            FlawKind::UntoldPrincipal => write!(f, "up to event {event} none tells of a name that is there"),
            FlawKind::Account => write!(f, "the account that event {event} tells of was altered or removed"),
            FlawKind::UntoldAccount => {
                write!(f, "up to event {event} none tells of an account that is there")
            }
            FlawKind::Token => write!(f, "the token that event {event} tells of was altered or removed"),
            FlawKind::UntoldToken => {
                write!(f, "up to event {event} none tells of a token that is there")
            }
            FlawKind::Reporter => {
                write!(f, "the reporter that event {event} tells of was altered or removed")
            }
            FlawKind::UntoldReporter => {
                write!(f, "up to event {event} none tells of a reporter that is there")
            }
            FlawKind::Cut => write!(f, "event {event} was noted elsewhere, and the record ends before it"),
            FlawKind::LeftBehind => {
                write!(f, "event {event} was noted elsewhere, and a restore has left it behind")
            }
            FlawKind::Rewritten => {
                write!(
                    f,
                    "event {event} was noted elsewhere with another hash: it, or one before it, was rewritten"
                )
            }
        }
    }
}

/// Walks the record from its beginning, within one committed state.
pub fn verify(driver: &mut dyn Driver, progress: &mut dyn FnMut(u64)) -> Result<ChainReport, StoreError> {
    verify_against(driver, None, progress)
}

/// The same for a record that must have an event as it was `noted` elsewhere.
pub fn verify_against(
    driver: &mut dyn Driver,
    noted: Option<Anchor>,
    progress: &mut dyn FnMut(u64),
) -> Result<ChainReport, StoreError> {
    driver.begin_read()?;
    let report = walk(driver, noted, progress);
    let ended = driver.rollback();
    let report = report?;
    ended.map(|()| report)
}

/// The same within a transaction that has begun.
pub(crate) fn walk(
    driver: &mut dyn Driver,
    noted: Option<Anchor>,
    progress: &mut dyn FnMut(u64),
) -> Result<ChainReport, StoreError> {
    let fleet = fleet::existing_of_any_schema(driver)?;
    let mut report =
        ChainReport { events: 0, receipts: 0, last: EventNumber(0), head: Digest([0; 32]), flaw: None };
    let mut last = Place { number: EventNumber(0), epoch: None };
    let mut told = Told::default();
    loop {
        let rows = rows_after(driver, last.number, None, EVENTS)?;
        if rows.is_empty() {
            break;
        }
        let mut vouched = BTreeMap::new();
        for row in rows {
            match follows(&row, last, fleet.event, &mut report.head, (&mut vouched, &mut told)) {
                Ok(epoch) => {
                    let before =
                        std::mem::replace(&mut last, Place { number: row.number, epoch: Some(epoch) });
                    report.flaw =
                        noted.and_then(|noted| denied(noted, before.number, row.number, report.head));
                }
                Err(kind) => {
                    let event = if kind == FlawKind::Missing { last.next() } else { row.number };
                    report.flaw = Some(Flaw { event, kind });
                    return Ok(report);
                }
            }
            report.events += 1;
            report.last = last.number;
            if report.flaw.is_some() {
                return Ok(report);
            }
        }
        report.flaw = receipts(driver, vouched, &mut report.receipts)?;
        if report.flaw.is_some() {
            return Ok(report);
        }
        progress(report.events);
    }
    if last.number != fleet.event {
        report.flaw = Some(Flaw { event: last.next(), kind: FlawKind::Missing });
    } else if report.head != fleet.head {
        report.flaw = Some(Flaw { event: last.number, kind: FlawKind::NotTheHead });
    } else if let Some(noted) = noted.filter(|noted| noted.event > last.number) {
        report.flaw = Some(Flaw { event: noted.event, kind: FlawKind::Cut });
    } else {
        report.flaw = compare(driver, told, last.number)?;
    }
    Ok(report)
}

/// Whether an event and its hash deny what was noted elsewhere.
fn denied(noted: Anchor, last: EventNumber, event: EventNumber, hash: Digest) -> Option<Flaw> {
    let kind = if noted.event == event {
        (noted.hash != hash).then_some(FlawKind::Rewritten)
    } else {
        (last < noted.event && noted.event < event).then_some(FlawKind::LeftBehind)
    };
    kind.map(|kind| Flaw { event: noted.event, kind })
}

/// The receipts that events vouch for: whose they are, the event, and the digest of the answer.
type Vouched = BTreeMap<(PrincipalName, OperationId), (EventNumber, Digest)>;

/// How far the walk has come: the last event, and the epoch that it belongs to.
#[derive(Clone, Copy)]
struct Place {
    number: EventNumber,
    epoch: Option<Epoch>,
}

impl Place {
    fn next(self) -> EventNumber {
        EventNumber(self.number.0 + 1)
    }

    /// Whether this event begins the epoch after the one that was walked through. Only then may its number be another
    /// than the next.
    fn ends_before(self, event: &Event) -> bool {
        self.epoch.is_some_and(|epoch| event.begins_epoch_after(self.number, epoch))
    }
}

/// Checks one row against the one before it, moves the head on, and says which epoch it belongs to.
fn follows(
    row: &EventRow,
    last: Place,
    end: EventNumber,
    head: &mut Digest,
    (vouched, told): (&mut Vouched, &mut Told),
) -> Result<Epoch, FlawKind> {
    if row.number > end {
        return Err(FlawKind::Inserted);
    }
    let event = serde_json::from_str::<Event>(&row.bytes);
    let begins = event.as_ref().is_ok_and(|event| last.ends_before(event));
    if row.number != last.next() && !begins {
        return Err(FlawKind::Missing);
    }
    let hash = chain_hash(head, &row.bytes);
    if row.hash != hash.to_string() {
        return Err(FlawKind::Broken);
    }
    let event = event.map_err(|_| FlawKind::Broken)?;
    let project = event.project.as_ref().map(ToString::to_string);
    let task = event.task.as_ref().map(ToString::to_string);
    if event.number != row.number
        || event.kind.as_str() != row.kind
        || project != row.project
        || task != row.task
        || last.epoch.is_some_and(|epoch| event.epoch != epoch && !begins)
    {
        return Err(FlawKind::Misplaced);
    }
    *head = hash;
    if let (Some(digest), Some(key)) = (event.receipt, receipt_key(&event)) {
        vouched.insert(key, (event.number, digest));
    }
    told.hear(&event)?;
    Ok(event.epoch)
}

/// What events tell of names, accounts, tokens and reporters: the last one about each, and the digest of the row that it left.
#[derive(Default)]
struct Told {
    /// A name is made once and has no digest.
    principals: BTreeMap<PrincipalName, (EventNumber, ())>,
    administrators: BTreeSet<PrincipalName>,
    accounts: BTreeMap<PrincipalName, (EventNumber, Digest)>,
    tokens: BTreeMap<TokenId, (EventNumber, Digest)>,
    reporters: BTreeMap<ReporterId, (EventNumber, Digest)>,
}

impl Told {
    fn hear(&mut self, event: &Event) -> Result<(), FlawKind> {
        let number = event.number;
        if event.kind == EventKind::PrincipalCreated {
            let name = text(&event.data, "name").ok_or(FlawKind::Principal)?;
            self.principals.insert(name, (number, ()));
        }
        if matches!(
            event.kind,
            EventKind::AccountCreated | EventKind::AccountEdited | EventKind::PasswordChanged
        ) {
            let (name, row): (PrincipalName, _) = named(&event.data, "account").ok_or(FlawKind::Account)?;
            if event.data["by"] == "console" && !self.administrators.is_empty() {
                return Err(FlawKind::FoundedAgain);
            }
            let administers =
                event.data["role"] == Role::Administrator.as_str() && event.data["disabled"] == false;
            if administers {
                self.administrators.insert(name.clone());
            } else {
                self.administrators.remove(&name);
            }
            self.accounts.insert(name, (number, row));
        }
        if matches!(event.kind, EventKind::TokenCreated | EventKind::TokenRotated | EventKind::TokenRevoked) {
            // What a new one replaces ends with the same event.
            for data in std::iter::once(&event.data).chain(event.data.get("replaced")) {
                let (id, row) = named(data, "token").ok_or(FlawKind::Token)?;
                self.tokens.insert(id, (number, row));
            }
        }
        if matches!(event.kind, EventKind::ReporterCreated | EventKind::ReporterEnded) {
            let (id, row) = named(&event.data, "reporter").ok_or(FlawKind::Reporter)?;
            self.reporters.insert(id, (number, row));
        }
        Ok(())
    }
}

/// What an event names in a field, and the digest of that row.
fn named<K: FromStr>(data: &Value, field: &str) -> Option<(K, Digest)> {
    Some((text(data, field)?, text(data, "row")?))
}

fn text<T: FromStr>(data: &Value, field: &str) -> Option<T> {
    data.get(field)?.as_str()?.parse().ok()
}

/// Compares names, accounts, tokens and reporters with what events tell of them.
fn compare(driver: &mut dyn Driver, told: Told, last: EventNumber) -> Result<Option<Flaw>, StoreError> {
    let Told { principals, administrators: _, accounts, tokens, reporters } = told;
    let principals = Compared::of(driver, principals, |row: &Principal| (&row.name, ()))?;
    let accounts = Compared::of(driver, accounts, |row: &Account| (&row.name, row.digest()))?;
    let tokens = Compared::of(driver, tokens, |row: &TokenRecord| (&row.id, row.digest()))?;
    let reporters = Compared::of(driver, reporters, |row: &Reporter| (&row.id, row.digest()))?;
    let altered = principals.flaw(last, (FlawKind::Principal, FlawKind::UntoldPrincipal));
    let altered = altered.or(accounts.flaw(last, (FlawKind::Account, FlawKind::UntoldAccount)));
    let altered = altered.or(tokens.flaw(last, (FlawKind::Token, FlawKind::UntoldToken)));
    Ok(altered.or(reporters.flaw(last, (FlawKind::Reporter, FlawKind::UntoldReporter))))
}

/// What became of comparing rows of a kind.
#[derive(Default)]
struct Compared {
    wrong: BTreeSet<EventNumber>,
    untold: bool,
}

impl Compared {
    /// Compares each row with what was told of it. One that nobody can read is none that an event tells of, so the event that
    /// tells of it finds no row.
    fn of<R: Stored, K: Ord, D: PartialEq>(
        driver: &mut dyn Driver,
        mut told: BTreeMap<K, (EventNumber, D)>,
        row: impl Fn(&R) -> (&K, D),
    ) -> Result<Self, StoreError> {
        let mut compared = Self::default();
        if driver.schema()? < ACCOUNTS_SINCE {
            return Ok(compared);
        }
        rows::each(driver, &mut |read: Option<&R>| {
            let read = read.map(&row).map(|(key, digest)| (told.remove(key), digest));
            match read {
                Some((Some((_, told)), digest)) if told == digest => {}
                Some((Some((event, _)), _)) => drop(compared.wrong.insert(event)),
                Some((None, _)) | None => compared.untold = true,
            }
        })?;
        compared.wrong.extend(told.into_values().map(|(event, _)| event));
        Ok(compared)
    }

    fn flaw(&self, last: EventNumber, (altered, untold): (FlawKind, FlawKind)) -> Option<Flaw> {
        let first = self.wrong.first().map(|event| Flaw { event: *event, kind: altered });
        first.or(self.untold.then_some(Flaw { event: last, kind: untold }))
    }
}

/// Under whose name and id the receipt of an event's operation is kept. What the coordinator does by itself has none.
fn receipt_key(event: &Event) -> Option<(PrincipalName, OperationId)> {
    Some((event.actor.principal.clone()?, event.actor.operation.clone()?))
}

/// Compares receipts that are still kept with the digests that events vouch for.
fn receipts(
    driver: &mut dyn Driver,
    vouched: Vouched,
    compared: &mut u64,
) -> Result<Option<Flaw>, StoreError> {
    let mut kept: Table<Receipt> = Table::default();
    rows::load_by_key(driver, &mut kept, &receipt::BY_ID, vouched.keys().cloned().collect())?;
    let mut wrong = None;
    for (key, (event, digest)) in vouched {
        let Some(answer) = kept.get(&key).flatten().and_then(|receipt| receipt.answer.as_ref()) else {
            continue;
        };
        *compared += 1;
        if receipt_digest(answer) != digest && wrong.is_none_or(|first: EventNumber| event < first) {
            wrong = Some(event);
        }
    }
    Ok(wrong.map(|event| Flaw { event, kind: FlawKind::Receipt }))
}
