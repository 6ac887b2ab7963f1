//! A session as its processes use it: found in its file or opened, and named in every call.

use tenure_core::model::ids::{OperationId, PrincipalName, SessionId, TaskId};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::Operation;
use tenure_core::operation::session::{CloseSession, OpenSession, SessionAnswer};
use tenure_core::secret::SessionSecret;
use tenure_core::wire;

use crate::call::{self, Client, Unanswered};
use crate::clock;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::route::route;
use crate::session_file::{Record, SessionFile};

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
        let given_up = |record: &Record| particulars.instead_of.as_ref() == Some(&record.session);
        if let Some(record) = file.read()?.filter(given_up) {
            // Its secret is in this file alone: while it is open there, its name is taken and only it can let go.
            Self::from_record(&record, file.clone())?.take_leave(client)?;
        }
        let record = file.update(|found| match found {
            Some(record) if !given_up(&record) => Ok((None, record)),
            _ => {
                let record = Record::draw(fleet, &identity.name, identity.conversation.clone());
                Ok((Some(record.clone()), record))
            }
        })?;
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
        Ok(Self { id: record.session.clone(), name: record.name.clone(), file, is_new: false, secret })
    }

    /// Tells the coordinator of the session. Telling it again changes nothing.
    fn introduce(
        &self,
        client: &Client,
        identity: &Identity,
        particulars: &Particulars,
    ) -> Result<(), Failure> {
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
        let answer = self.send(client, &request).map_err(Failure::from);
        if answer.as_ref().is_err_and(Failure::is_decided) {
            self.file.forget(&self.id)?;
        }
        let answer: SessionAnswer = call::read(&answer?)?;
        self.file.edit(|record| record.epoch = Some(answer.epoch))?;
        Ok(())
    }

    /// Closes the session at the coordinator. That it is over there already is as good.
    fn take_leave(&self, client: &Client) -> Result<(), Failure> {
        match self.send(client, &CloseSession {}).map_err(Failure::from) {
            Err(failure) if !is_of_session(failure.code()) => Err(failure),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Sends a request about the session itself. Repeating one changes nothing, so none is kept on record.
    fn send<O: Operation>(&self, client: &Client, operation: &O) -> Result<Vec<u8>, Unanswered> {
        let input = serde_json::to_value(operation).expect("inputs are plain data and always serialise");
        let operation_id: OperationId = clock::random_id();
        let mut headers = self.headers();
        headers.push((wire::IDEMPOTENCY_KEY, operation_id.to_string()));
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        client.exchange(&route(&O::SPEC, &input), &headers, call::patience(O::SPEC.name))
    }

    /// What names the session in a call.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        vec![(wire::SESSION, self.id.to_string()), (wire::PROOF, self.secret.session_proof().to_wire())]
    }

    /// The secret that its lease tokens are derived from.
    pub(crate) fn secret(&self) -> &SessionSecret {
        &self.secret
    }

    /// The tasks that it holds, as far as its file knows.
    pub fn held(&self) -> Result<Vec<TaskId>, Failure> {
        let record = self.file.read()?;
        Ok(record.iter().flat_map(Record::held).map(|(task, _)| task.clone()).collect())
    }
}

/// Whether a refusal says that the session itself is over.
#[must_use]
pub fn is_of_session(code: Code) -> bool {
    matches!(code, Code::SessionUnknown | Code::SessionClosed | Code::EpochChanged)
}
