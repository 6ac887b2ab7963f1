//! A session's private file: its secret, what it holds, and the mutations whose answers it has not seen yet.
//!
//! One file of mode 0600 per fleet and session name, in a folder of mode 0700 outside any repository. It is changed
//! under a short lock; no lock is held across a call, because many processes may share a session. A request is stored
//! here before it is sent and removed after its answer was stored, so that no crash can leave a call whose outcome
//! nobody will ever ask for.
//!
//! A change is a whole new record, appended as a line of its own: the last whole line counts. A writer that dies, or a
//! disk that is full, leaves at most a line without an end, which counts for nothing, and the next writer replaces such
//! a file. Appending costs a thirtieth of replacing the file under its name, and two changes are part of every mutation.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::model::ids::{
    AttemptId, ConversationId, Epoch, OperationId, PrincipalName, SessionId, TaskId,
};
use tenure_core::model::limits::IMPORT_BYTES;
use tenure_core::secret::SessionSecret;

use crate::failure::Failure;
use crate::{clock, private, processes};

/// The layout that this program reads and writes.
const VERSION: u32 = 1;
/// A file that would grow beyond this many bytes is replaced by its last record.
const FILE_BYTES: u64 = 64 * 1024;
/// What is read of it first, in bytes: most records are far shorter.
const END_BYTES: usize = 4 * 1024;
/// Longest record, in bytes: a few requests of the largest kind may be pending at once.
const RECORD_BYTES: usize = 4 * IMPORT_BYTES;

/// What the file holds.
#[derive(Clone, Serialize, Deserialize)]
pub struct Record {
    /// The version of the layout.
    pub v: u32,
    /// The fleet it is a session of.
    pub fleet: String,
    /// The agent's name.
    pub name: PrincipalName,
    /// The session's id.
    pub session: SessionId,
    /// The session's secret in hexadecimal digits. It never leaves this file.
    pub secret: String,
    /// What survives a resume of the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The fleet's incarnation when the session was opened; absent until the coordinator knows the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// What it holds, by task.
    #[serde(default)]
    pub leases: BTreeMap<TaskId, Lease>,
    /// Requests whose answers were not seen yet.
    #[serde(default)]
    pub pending: Vec<Pending>,
    /// The session that was to take this one's place, as long as the coordinator has not said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<Successor>,
}

/// A session that was drawn to take another's place.
#[derive(Clone, Serialize, Deserialize)]
pub struct Successor {
    /// The session's id.
    pub session: SessionId,
    /// Its secret in hexadecimal digits.
    pub secret: String,
}

/// A lease as its holder knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Task and generation.
    pub attempt: AttemptId,
    /// The claim's operation id, from which the lease token is derived.
    pub claim_operation: OperationId,
    /// When it ends at the latest, on [`clock::boot_ms`].
    pub ends_at_boot_ms: i64,
    /// The start of the machine that `ends_at_boot_ms` counts from.
    pub boot: String,
    /// The coordinator said that it is over. It is kept for a recovery note.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
}

impl Lease {
    /// Milliseconds that it surely still lasts; 0 when nothing is sure.
    #[must_use]
    pub fn remaining_ms(&self) -> i64 {
        let counts = !self.over && self.boot == clock::boot_id();
        if counts { (self.ends_at_boot_ms - clock::boot_ms()).max(0) } else { 0 }
    }
}

/// A whole request, kept until its answer is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The operation's name.
    pub operation: String,
    /// Its input.
    pub input: Value,
    /// Its id: a repetition carries the same.
    pub operation_id: OperationId,
    /// The attempt that it named, with the claim that its token is derived from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<(AttemptId, OperationId)>,
    /// The process that waits for the answer, or [`NOBODY`].
    pub pid: u32,
    /// When that process started.
    pub started: u64,
}

/// In the place of a process: it has given up waiting.
pub const NOBODY: u32 = 0;

impl Pending {
    /// Whether a process may still be waiting for the answer.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        processes::started(self.pid) == Some(self.started)
    }
}

impl Record {
    /// A new session: id and secret are drawn here.
    #[must_use]
    pub fn draw(fleet: &str, name: &PrincipalName, conversation: Option<ConversationId>) -> Self {
        Self {
            v: VERSION,
            fleet: fleet.to_owned(),
            name: name.clone(),
            session: clock::session_id(),
            secret: SessionSecret::new(clock::random()).to_hex(),
            conversation,
            epoch: None,
            leases: BTreeMap::new(),
            pending: Vec::new(),
            successor: None,
        }
    }

    /// What must never be lost.
    fn secrets(&self) -> (String, Option<String>) {
        (self.secret.clone(), self.successor.as_ref().map(|successor| successor.secret.clone()))
    }

    /// The leases that the coordinator has not called over.
    pub fn held(&self) -> impl Iterator<Item = (&TaskId, &Lease)> {
        self.leases.iter().filter(|(_, lease)| !lease.over)
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Record({} as {})", self.session, self.name)
    }
}

/// The place of one session's file.
#[derive(Debug, Clone)]
pub struct SessionFile {
    path: PathBuf,
    /// The folders above it are there and private.
    is_private: OnceLock<()>,
}

/// The folder of the session files in a state folder.
#[must_use]
pub fn folder(state: &Path) -> PathBuf {
    state.join("sessions")
}

impl SessionFile {
    /// The file of a session by its fleet and name.
    #[must_use]
    pub fn of(state: &Path, fleet: &str, name: &PrincipalName) -> Self {
        let part = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string().replace('%', "=");
        let path = folder(state).join(format!("{}.{}.json", part(fleet), part(name.as_str())));
        Self { path, is_private: OnceLock::new() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds; nothing when there is no such session.
    pub fn read(&self) -> Result<Option<Record>, Failure> {
        self.check_folders()?;
        let bytes = match self.end() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::file("read", &self.path, &error)),
        };
        let Some(line) = last_whole_line(&bytes) else { return Err(self.unusable("holds no whole record")) };
        let record: Record = serde_json::from_slice(line)
            .map_err(|error| self.unusable(&format!("cannot be read (column {})", error.column())))?;
        if record.v != VERSION || SessionSecret::from_hex(&record.secret).is_err() {
            return Err(self.unusable("was written by another version of tenure"));
        }
        Ok(Some(record))
    }

    /// The end of the file, as much of it as its last whole record needs.
    fn end(&self) -> std::io::Result<Vec<u8>> {
        let (bytes, before) = private::read_own_end(&self.path, END_BYTES)?;
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        // What stands between the ends of two lines is whole.
        if before == 0 || lines >= 2 { Ok(bytes) } else { private::read_own(&self.path, RECORD_BYTES) }
    }

    /// Changes what it holds, or creates it, under its lock. Nothing is written when `change` returns nothing.
    pub fn update<T>(
        &self,
        change: impl FnOnce(Option<Record>) -> Result<(Option<Record>, T), Failure>,
    ) -> Result<T, Failure> {
        let _lock = self.lock()?;
        let found = self.read()?;
        let secrets = found.as_ref().map(Record::secrets);
        let (record, result) = change(found)?;
        if let Some(record) = record {
            // A secret is in this file alone and must survive a loss of power. What is pending must survive the death of
            // the process, for which the kernel's memory is enough: a machine without power takes the caller along.
            let appends = secrets == Some(record.secrets());
            self.write(&record, appends).map_err(|error| Failure::file("write", &self.path, &error))?;
        }
        Ok(result)
    }

    /// Changes an existing record. A file that has gone since is left gone.
    pub fn edit<T>(&self, change: impl FnOnce(&mut Record) -> T) -> Result<Option<T>, Failure> {
        self.update(|record| {
            let Some(mut record) = record else { return Ok((None, None)) };
            let result = change(&mut record);
            Ok((Some(record), Some(result)))
        })
    }

    /// Forgets the session if it is still this one.
    pub fn forget(&self, session: &SessionId) -> Result<(), Failure> {
        let _lock = self.lock()?;
        if self.read()?.is_some_and(|record| record.session == *session) {
            std::fs::remove_file(&self.path).map_err(|error| Failure::file("remove", &self.path, &error))?;
        }
        Ok(())
    }

    fn unusable(&self, why: &str) -> Failure {
        Failure::cannot_tell(
            format!("the session file {} {why}", self.path.display()),
            "move it away and open a session anew; work that it holds is recovered after its lease ends",
        )
    }

    /// The state folder and the one of session files, with what others may not do in them.
    fn folders(&self) -> [(&Path, u32); 2] {
        let sessions = self.path.parent().expect("a session file lies in a folder");
        let state = sessions.parent().expect("which lies in the state folder");
        [(state, private::CHANGE), (sessions, private::ANYTHING)]
    }

    /// Refuses to trust files that others could have put there. Whether the folders are there.
    fn check_folders(&self) -> Result<bool, Failure> {
        if self.is_private.get().is_none() {
            for (folder, forbidden) in self.folders() {
                if !private::check_folder(folder, forbidden)? {
                    return Ok(false);
                }
            }
            self.is_private.get_or_init(|| ());
        }
        Ok(true)
    }

    fn lock(&self) -> Result<File, Failure> {
        if !self.check_folders()? {
            for (folder, forbidden) in self.folders() {
                private::create_folder(folder, forbidden)?;
            }
        }
        let path = self.path.with_extension("lock");
        let locked = private::options().create(true).append(true).open(&path).and_then(|file| {
            rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        });
        locked.map_err(|error| Failure::file("lock", &path, &error))
    }

    /// Appends a record to a file that ends with a whole line, or replaces the file.
    fn write(&self, record: &Record, appends: bool) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        if line.len() > RECORD_BYTES {
            let wrong = format!("it would be longer than {RECORD_BYTES} bytes: too much is on its way");
            return Err(std::io::Error::new(ErrorKind::FileTooLarge, wrong));
        }
        if appends {
            let mut file = private::options().read(true).append(true).open(&self.path)?;
            let length = file.metadata()?.len();
            let mut last = [0];
            file.read_exact_at(&mut last, length.saturating_sub(1))?;
            if last == *b"\n" && length + line.len() as u64 <= FILE_BYTES {
                return file.write_all(&line);
            }
        }
        self.replace(&line)
    }

    /// Puts a file with this line alone in the place of the present one, and makes it and its name outlast a loss of
    /// power.
    fn replace(&self, line: &[u8]) -> std::io::Result<()> {
        let draft = self.path.with_extension("draft");
        let mut file = private::options().create(true).write(true).truncate(true).open(&draft)?;
        file.write_all(line)?;
        file.sync_data()?;
        std::fs::rename(&draft, &self.path)?;
        let directory = self.path.parent().expect("a session file lies in a folder");
        File::open(directory)?.sync_all()
    }
}

/// What counts of a session's file.
fn last_whole_line(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n')?;
    bytes[..end].rsplit(|byte| *byte == b'\n').next()
}
