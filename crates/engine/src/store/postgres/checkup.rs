//! Whether a PostgreSQL is what a fleet can stand on: what is refused at the start, and what `tenure doctor` tells.

use std::fmt;

use super::Postgres;
use super::address::Address;
use super::wire::Wire;
use crate::store::driver::{Class, Driver, Fields, Role, StoreError, Value};

/// The oldest version that is tested.
const VERSION_MIN: i64 = 15;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub name: &'static str,
    /// Whether it is as it must be, or nothing where it is only told.
    pub is_good: Option<bool>,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub next: Option<&'static str>,
}

impl Finding {
    fn judged(name: &'static str, is_good: bool, found: impl fmt::Display, next: &'static str) -> Self {
        let next = (!is_good).then_some(next);
        Self { name, is_good: Some(is_good), found: found.to_string(), next }
    }
}

/// Refuses a database on which a fleet cannot stand, before anything is made in it. A pooler comes first: behind one that
/// is not fit, nothing else can be asked.
pub fn refuse_unfit(address: &Address) -> Result<(), StoreError> {
    refuse(pooling(address)?)?;
    let mut one = Postgres::open(address, Role::Reader)?;
    refuse(version(&mut one)?)?;
    refuse(encoding(&mut one)?)
}

fn refuse(finding: Finding) -> Result<(), StoreError> {
    let Finding { name, is_good, found, next } = finding;
    match is_good {
        Some(false) => {
            let next = next.unwrap_or_default();
            Err(StoreError::new(Class::Other, format!("{name}: {found}; {next}")))
        }
        Some(true) | None => Ok(()),
    }
}

/// Looks at everything that decides whether the promises hold here. Of a database that cannot be written to, there is
/// nothing else to tell.
pub fn look(address: &Address) -> Result<Vec<Finding>, StoreError> {
    let mut one = match Postgres::open(address, Role::Reader) {
        Ok(one) => one,
        Err(error) => {
            // One that cannot be reached may be the primary.
            let seen: Result<Vec<_>, _> =
                address.hosts().iter().map(|host| only_read(&host.read_only())).collect();
            return seen.ok().and_then(|mut seen| seen.pop()).ok_or(error);
        }
    };
    Ok(vec![
        version(&mut one)?,
        writing(&mut one)?,
        encoding(&mut one)?,
        collation(&mut one)?,
        rights(&mut one)?,
        isolation(&mut one)?,
        durability(&mut one)?,
        standby(&mut one)?,
        pooling(address)?,
    ])
}

/// What there is to tell of a database that cannot be written to.
fn only_read(host: &Address) -> Result<Vec<Finding>, StoreError> {
    let mut one = Postgres::open(host, Role::Reader)?;
    Ok(vec![version(&mut one)?, writing(&mut one)?])
}

fn version(one: &mut Postgres) -> Result<Finding, StoreError> {
    let number: i64 = one.setting("server_version_num")?.parse().unwrap_or_default();
    let found = one.version()?;
    Ok(Finding::judged("version", number / 10_000 >= VERSION_MIN, found, "use PostgreSQL 15 or newer"))
}

/// Whether it takes writes. Our own connections for questions do not ask for it, so what others get is looked at.
fn writing(one: &mut Postgres) -> Result<Finding, StoreError> {
    let sql = "SELECT CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END, \
        (SELECT count(*) FROM pg_settings WHERE name = 'default_transaction_read_only' AND reset_val = 'on')";
    let (found, next) = match numbers(one, sql)? {
        [0, 0] => ("the database takes writes", ""),
        [0, _] => ("default_transaction_read_only is on", "set default_transaction_read_only to off"),
        [_, _] => (
            "it is a standby and follows another server",
            "name the primary in the address; promote this one only if the primary is gone for good",
        ),
    };
    Ok(Finding::judged("writing", next.is_empty(), found, next))
}

fn encoding(one: &mut Postgres) -> Result<Finding, StoreError> {
    let found = one.setting("server_encoding")?;
    let next = "make the database with ENCODING 'UTF8'";
    Ok(Finding::judged("encoding", found == "UTF8", found, next))
}

/// Ids and keys are in the order of their bytes, on every database.
fn collation(one: &mut Postgres) -> Result<Finding, StoreError> {
    let sql = "SELECT count(*), coalesce(sum(CASE WHEN collation_name = 'C' THEN 0 ELSE 1 END), 0) \
        FROM information_schema.columns WHERE table_schema = current_schema() AND data_type = 'text'";
    let [all, foreign] = numbers(one, sql)?;
    let found = format!("{} of {all} text columns are ordered by their bytes", all - foreign);
    Ok(Finding::judged("collation", foreign == 0, found, "restore the schema from a dump without changes"))
}

/// What the server's migrations and its work need.
fn rights(one: &mut Postgres) -> Result<Finding, StoreError> {
    let sql = "SELECT CASE WHEN has_schema_privilege(current_schema(), 'USAGE') \
        AND has_schema_privilege(current_schema(), 'CREATE') THEN 1 ELSE 0 END, \
        (SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() \
         AND NOT pg_has_role(tableowner, 'USAGE'))";
    let [may, foreign] = numbers(one, sql)?;
    let found = match (may, foreign) {
        (1, 0) => "the user owns the schema's tables and may make more".to_owned(),
        (1, foreign) => format!("{foreign} tables belong to somebody else"),
        (_, _) => "the user may not make tables in the schema".to_owned(),
    };
    let next =
        "give the schema and its tables to the user: ALTER SCHEMA … OWNER TO …, ALTER TABLE … OWNER TO …";
    Ok(Finding::judged("rights", (may, foreign) == (1, 0), found, next))
}

/// Stated at the beginning of every transaction, so the server's default does not matter.
fn isolation(one: &mut Postgres) -> Result<Finding, StoreError> {
    let mut found = String::new();
    one.begin_read()?;
    let asked = one.query("SELECT current_setting('transaction_isolation')", &[], &mut |row| {
        found = Fields::of(row).text()?.to_owned();
        Ok(())
    });
    one.rollback()?;
    asked?;
    let is_good = found == "repeatable read";
    let told = format!("questions see one state ({found}); writes hold the fleet's row");
    Ok(Finding::judged(
        "isolation",
        is_good,
        told,
        "remove what overrides it: a pooler, or a role's settings",
    ))
}

fn durability(one: &mut Postgres) -> Result<Finding, StoreError> {
    let settings = ["fsync", "full_page_writes", "synchronous_commit"];
    let values: Vec<String> = settings.iter().map(|name| one.setting(name)).collect::<Result<_, _>>()?;
    let is_good = values[0] == "on" && values[1] == "on" && values[2] != "off" && values[2] != "local";
    let told: Vec<String> =
        settings.iter().zip(&values).map(|(name, value)| format!("{name}={value}")).collect();
    let next = "set fsync and full_page_writes to on: without them a crash can lose what was acknowledged";
    Ok(Finding::judged("durability", is_good, told.join(", "), next))
}

/// Whether what is acknowledged survives the loss of the primary.
pub fn standby(one: &mut dyn Driver) -> Result<Finding, StoreError> {
    let sql = "SELECT count(*), \
        coalesce(sum(CASE WHEN sync_state IN ('sync', 'quorum') THEN 1 ELSE 0 END), 0), \
        coalesce(sum(CASE WHEN sync_state IS NULL THEN 1 ELSE 0 END), 0) FROM pg_stat_replication";
    let [all, synchronous, hidden] = numbers(one, sql)?;
    let mut wanted = String::new();
    one.query("SELECT current_setting('synchronous_standby_names')", &[], &mut |row| {
        Fields::of(row).text()?.clone_into(&mut wanted);
        Ok(())
    })?;
    let name = "standby";
    Ok(match (wanted.is_empty(), synchronous) {
        (false, 0) if hidden > 0 => Finding {
            name,
            is_good: None,
            found: format!("{hidden} of {all} standbys do not show this user whether they are synchronous"),
            next: Some("GRANT pg_read_all_stats to the user, to be told"),
        },
        (false, 0) => Finding::judged(
            name,
            false,
            format!("none of {all} standbys is synchronous, and {wanted} is waited for: commits hang"),
            "start the standby that is named, or take it out of synchronous_standby_names",
        ),
        (false, synchronous) => Finding {
            name,
            is_good: Some(true),
            found: format!("{synchronous} of {all} standbys are synchronous: a commit survives the primary"),
            next: None,
        },
        (true, _) => Finding {
            name,
            is_good: None,
            found: format!(
                "none of {all} standbys is synchronous: what was acknowledged last is lost with the primary"
            ),
            next: Some("name one in synchronous_standby_names"),
        },
    })
}

/// A pooler that lends a connection for one transaction takes the session's settings, its locks and its notifications
/// away between two of them. It shows when somebody else's transaction comes in between. Nothing is set or prepared on
/// these connections: the next one to get them would have it.
fn pooling(address: &Address) -> Result<Finding, StoreError> {
    const BACKEND: &str = "SELECT pg_backend_pid()";
    let (one, other) = (Wire::connect(address)?, Wire::connect(address)?);
    let before = one.asked(BACKEND)?;
    other.asked("BEGIN")?;
    let between = other.asked(BACKEND)?;
    let after = one.asked(BACKEND)?;
    other.asked("ROLLBACK")?;
    let is_good = before == after && before != between;
    let found = if is_good {
        "each connection is a session of its own"
    } else {
        "a pooler lends sessions by the transaction, and settings and notifications are lost between two"
    };
    let next =
        "connect to PostgreSQL itself, or let the pooler lend a session for as long as it is connected";
    Ok(Finding::judged("pooling", is_good, found, next))
}

/// The numbers of the one row that answers a question.
fn numbers<const N: usize>(one: &mut dyn Driver, sql: &str) -> Result<[i64; N], StoreError> {
    let mut numbers = [0; N];
    one.query(sql, &[] as &[Value<'_>], &mut |row| {
        let mut fields = Fields::of(row);
        numbers.iter_mut().try_for_each(|number| {
            *number = fields.integer()?;
            Ok(())
        })
    })?;
    Ok(numbers)
}
