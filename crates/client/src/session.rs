//! A session as its processes use it: found in its file or opened, and named in every call.

use tenure_core::model::ids::{Epoch, PrincipalName, SessionId, TaskId};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::Operation;
use tenure_core::operation::session::{OpenSession, SessionAnswer, ShowSession};
use tenure_core::secret::SessionSecret;
use tenure_core::wire;

use crate::call::{self, Client};
use crate::clock;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::route::route;
use crate::session_file::{Record, SessionFile, Successor};

/// What is refused of a session's id, and not of who asks about it.
const OF_AN_ID: [Code; 2] = [Code::NotFound, Code::InvalidInput];

/// An open session and its file.
#[derive(Debug)]
pub struct Session {
    /// The session's id.
    pub id: SessionId,
    /// The agent's name.
    pub name: PrincipalName,
    /// Its file.
    pub file: SessionFile,
    /// Whether this call opened it.
    pub is_new: bool,
    epoch: Option<Epoch>,
    secret: SessionSecret,
}

/// What is told to the coordinator about a session beside who it is.
#[derive(Debug, Clone, Default)]
pub struct Particulars {
    /// The session that starts this one, for a subagent.
    pub parent: Option<SessionId>,
    /// What it offers to tasks that require something.
    pub capabilities: Vec<tenure_core::model::ids::Capability>,
    /// Give up this session if the file still holds it, and open another one.
    pub instead_of: Option<SessionId>,
}

impl Session {
    /// The caller's session: the one in its file, or a new one.
    pub fn open(client: &Client, identity: &Identity, particulars: &Particulars) -> Result<Self, Failure> {
        let fleet = client.fleet()?;
        let file = SessionFile::of(client.folder(), fleet, &identity.name);
        let record = match file.read()? {
            Some(record) if particulars.instead_of.as_ref() == Some(&record.session) => {
                return Self::replace(client, identity, particulars, file, &record);
            }
            Some(record) => record,
            // Of several processes that find none, the first one draws it.
            None => file.update(|found| match found {
                Some(record) => Ok((None, record)),
                None => {
                    let record = Record::draw(fleet, &identity.name, identity.conversation.clone());
                    Ok((Some(record.clone()), record))
                }
            })?,
        };
        if let (Some(mine), Some(known)) = (&identity.conversation, &record.conversation)
            && mine != known
        {
            return Err(Refusal::new(
                Code::NameInUse,
                format!("the session {} belongs to another conversation of its harness", identity.name),
            )
            .next("export TENURE_SESSION=another-name")
            .into());
        }
        let mut session = Self::from_record(&record, file)?;
        if record.epoch.is_none() {
            session.introduce(client, identity, particulars)?;
            session.is_new = true;
        }
        Ok(session)
    }

    /// The caller's session, if its file holds one. Asks nobody but the fleet's name.
    pub fn existing(client: &Client, identity: &Identity) -> Result<Option<Self>, Failure> {
        let fleet = client.fleet()?;
        let file = SessionFile::of(client.folder(), fleet, &identity.name);
        match file.read()? {
            Some(record) if record.epoch.is_some() => Self::from_record(&record, file).map(Some),
            _ => Ok(None),
        }
    }

    fn from_record(record: &Record, file: SessionFile) -> Result<Self, Failure> {
        let secret = SessionSecret::from_hex(&record.secret).map_err(|wrong| {
            Failure::cannot_tell(format!("{}: {wrong}", file.path().display()), "open a session anew")
        })?;
        Ok(Self {
            id: record.session.clone(),
            name: record.name.clone(),
            file,
            is_new: false,
            epoch: record.epoch,
            secret,
        })
    }

    /// Opens another session in the place of the one in the file. The old one's secret stays in the file until the
    /// coordinator has accepted; the new one's stands beside it before it is sent, so that a lost answer loses neither.
    fn replace(
        client: &Client,
        identity: &Identity,
        particulars: &Particulars,
        file: SessionFile,
        old: &Record,
    ) -> Result<Self, Failure> {
        let proves = Self::from_record(old, file.clone())?;
        let mut record = Record::draw(&old.fleet, &identity.name, identity.conversation.clone());
        let drawn = Successor { session: record.session.clone(), secret: record.secret.clone() };
        let kept = file.edit(|found| {
            (found.session == old.session).then(|| found.successor.get_or_insert(drawn).clone())
        })?;
        // Another process was faster: the file holds another session by now.
        let Some(Some(kept)) = kept else { return Self::open(client, identity, &Particulars::default()) };
        (record.session, record.secret) = (kept.session, kept.secret);
        let mut session = Self::from_record(&record, file)?;
        let answer = session.announce(client, identity, particulars, &proves);
        if answer.as_ref().is_err_and(Failure::is_decided) {
            session.file.edit(|found| found.successor = None)?;
        }
        record.epoch = Some(answer?.epoch);
        session.epoch = record.epoch;
        for left in &old.pending {
            client.tell(&format!("`{}` of the earlier session stays uncertain", left.operation));
        }
        session.file.update(|found| match found {
            // What another process of the same successor holds by now is kept.
            Some(found) if found.session == record.session => {
                Ok((Some(Record { epoch: record.epoch, ..found }), ()))
            }
            Some(found) if found.session == old.session => Ok((Some(record), ())),
            _ => Err(Failure::cannot_tell(
                format!("the session file of {} was changed by another process", identity.name),
                "repeat the command",
            )),
        })?;
        session.is_new = true;
        Ok(session)
    }

    /// The session of an id, if its file lies here: a parent vouches for the session that it starts by its own proof.
    pub fn of(client: &Client, id: &SessionId) -> Result<Option<Self>, Failure> {
        let input = serde_json::json!({ "session": id });
        let spec = &ShowSession::SPEC;
        let answer = client.exchange(&route(spec, &input)?, &[], call::patience(spec, &input));
        let known: SessionAnswer = match answer.map_err(Failure::from).and_then(|answer| call::read(&answer))
        {
            // Who refuses the id is asked again with it, and says what is wrong with it as a parent.
            Err(Failure::Refused(refusal)) if OF_AN_ID.contains(&refusal.code) => return Ok(None),
            answer => answer?,
        };
        let file = SessionFile::of(client.folder(), client.fleet()?, &known.session.name);
        match file.read()? {
            Some(record) if record.session == *id => Self::from_record(&record, file).map(Some),
            Some(_) | None => Ok(None),
        }
    }

    /// Announces the session and keeps what the coordinator answers.
    fn introduce(
        &mut self,
        client: &Client,
        identity: &Identity,
        particulars: &Particulars,
    ) -> Result<(), Failure> {
        let parent =
            particulars.parent.as_ref().map(|parent| Self::of(client, parent)).transpose()?.flatten();
        let answer = self.announce(client, identity, particulars, parent.as_ref().unwrap_or(self));
        if answer.as_ref().is_err_and(Failure::is_decided) {
            self.file.forget(&self.id)?;
        }
        self.epoch = Some(answer?.epoch);
        self.file.edit(|record| record.epoch = self.epoch)?;
        Ok(())
    }

    /// Announces the session to the coordinator, with the proof of a session. To do so again changes nothing.
    fn announce(
        &self,
        client: &Client,
        identity: &Identity,
        particulars: &Particulars,
        proves: &Self,
    ) -> Result<SessionAnswer, Failure> {
        let request = OpenSession {
            session: self.id.clone(),
            proof_hash: self.secret.session_proof().hash(),
            name: self.name.clone(),
            conversation: identity.conversation.clone(),
            parent: particulars.parent.clone(),
            harness: identity.harness.clone(),
            workstation: Some(rustix::system::uname().nodename().to_string_lossy().into_owned()),
            capabilities: particulars.capabilities.clone(),
        };
        // Repeating it changes nothing, so it is not kept on record.
        let input = serde_json::to_value(&request).expect("inputs are plain data and always serialise");
        let operation_id = clock::operation_id();
        let mut headers = proves.headers();
        headers.push((wire::IDEMPOTENCY_KEY, operation_id.to_string()));
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let spec = &OpenSession::SPEC;
        call::read(&client.exchange(&route(spec, &input)?, &headers, call::patience(spec, &input))?)
    }

    /// What names the session in a call.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        vec![(wire::SESSION, self.id.to_string()), (wire::PROOF, self.secret.session_proof().to_wire())]
    }

    /// The fleet's incarnation when it was opened.
    pub(crate) fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// The secret that its lease tokens are derived from.
    pub(crate) fn secret(&self) -> &SessionSecret {
        &self.secret
    }

    /// Whether its file is still its own: neither was it closed nor did another session take its place.
    pub fn is_in_file(&self) -> Result<bool, Failure> {
        Ok(self.file.read()?.is_some_and(|record| record.session == self.id))
    }

    /// The tasks that it holds, as far as its file knows.
    pub fn held(&self) -> Result<Vec<TaskId>, Failure> {
        let record = self.file.read()?;
        Ok(record.iter().flat_map(Record::held).map(|(task, _)| task.clone()).collect())
    }

    /// Whether a refusal says that the session itself is over, and not only a cursor of another epoch, for example.
    #[must_use]
    pub fn is_ended_by(&self, refusal: &Refusal) -> bool {
        let now = refusal.facts.get("epoch").and_then(serde_json::Value::as_u64);
        let is_of_earlier_epoch = self.epoch.map(|epoch| epoch.0) != now;
        matches!(refusal.code, Code::SessionUnknown | Code::SessionClosed)
            || (refusal.code == Code::EpochChanged && is_of_earlier_epoch)
    }
}
