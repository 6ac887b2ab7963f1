//! Principals, their sessions, and when sessions claimed where.

use tenure_core::model::ids::PrincipalName;
use tenure_core::model::session::{Principal, Served, Session};
use tenure_core::model::time::{FleetTime, WallTime};

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static PRINCIPAL: Shape = Shape::new("principal", &["name", "kind", "created_at", "machine"], 1, 1);
static SESSION: Shape = Shape::new(
    "session",
    &[
        "id",
        "handle",
        "principal",
        "conversation",
        "parent",
        "proof_hash",
        "harness",
        "workstation",
        "capabilities",
        "opened_at",
        "machine",
        "open",
        "present_until",
    ],
    1,
    11,
)
.with_steady(1);
static SERVED: Shape = Shape::new("served", &["session", "project", "event"], 2, 2);

/// Principals by name.
pub static PRINCIPALS: Lookup = Lookup::new(&PRINCIPAL, &["name"], "");
/// Sessions by id.
pub static BY_ID: Lookup = Lookup::new(&SESSION, &["id"], "");
/// Open sessions by principal.
pub static OPEN_OF: Lookup = Lookup::new(&SESSION, &["principal"], "open = 1");
/// Open sessions by conversation.
pub static IN_CONVERSATION: Lookup = Lookup::new(&SESSION, &["conversation"], "open = 1");
/// Sessions by handle.
pub static BY_HANDLE: Lookup = Lookup::new(&SESSION, &["handle"], "");
/// When sessions claimed where.
pub static SERVED_AT: Lookup = Lookup::new(&SERVED, &["session", "project"], "");

impl Stored for Principal {
    fn shape() -> &'static Shape {
        &PRINCIPAL
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            name: fields.parse()?,
            kind: fields.parse()?,
            created_at: WallTime(fields.integer()?),
            machine: fields.optional_parse()?,
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.name.as_str());
        values.text(self.kind.as_str());
        values.integer(self.created_at.0);
        values.optional_text(self.machine.as_ref().map(PrincipalName::as_str));
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(key);
    }
}

impl Stored for Session {
    fn shape() -> &'static Shape {
        &SESSION
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: fields.parse()?,
            handle: fields.parse()?,
            principal: fields.parse()?,
            conversation: fields.optional_parse()?,
            parent: fields.optional_parse()?,
            proof_hash: fields.parse()?,
            harness: fields.optional_text()?.map(str::to_owned),
            workstation: fields.optional_text()?.map(str::to_owned),
            capabilities: fields.json()?,
            opened_at: WallTime(fields.integer()?),
            machine: fields.optional_parse()?,
            open: fields.flag()?,
            present_until: FleetTime(fields.integer()?),
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.id.as_str());
        values.text(self.handle.as_str());
        values.text(self.principal.as_str());
        values.optional_text(self.conversation.as_ref().map(tenure_core::model::ids::ConversationId::as_str));
        values.optional_text(self.parent.as_ref().map(tenure_core::model::ids::SessionId::as_str));
        values.shown(&self.proof_hash);
        values.optional_text(self.harness.as_deref());
        values.optional_text(self.workstation.as_deref());
        values.json(&self.capabilities);
        values.integer(self.opened_at.0);
        values.optional_text(self.machine.as_ref().map(PrincipalName::as_str));
        values.flag(self.open);
        values.integer(self.present_until.0);
    }

    /// Most writes only say that a session is still there; one that is not open has just been closed.
    fn has_moved(&self) -> bool {
        !self.open
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(key);
    }
}

impl Stored for Served {
    fn shape() -> &'static Shape {
        &SERVED
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self { session: fields.parse()?, project: fields.parse()?, event: fields.count()? })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.text(self.session.as_str());
        values.text(self.project.as_str());
        values.count(self.event);
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(&key.0);
        values.shown(&key.1);
    }
}

/// The statement of [`newest`].
#[must_use]
pub fn newest_text() -> String {
    format!("{} WHERE open = 1 ORDER BY opened_at DESC, id DESC LIMIT $1", SESSION.select())
}

/// Open sessions, the newest first.
pub fn newest(driver: &mut dyn Driver, count: u32) -> Result<Vec<Session>, StoreError> {
    let mut values = Values::default();
    values.integer(i64::from(count));
    let mut sessions = Vec::new();
    driver.query(&newest_text(), &values.0, &mut |row| {
        sessions.push(Session::read(&mut Fields::of(row))?);
        Ok(())
    })?;
    Ok(sessions)
}
