//! A connection to PostgreSQL as plain calls. Its client is asynchronous; here, and only here, it is driven to its end
//! within each call and on the caller's thread, so nothing of it goes on between calls (invariant 7).

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::try_join_all;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_postgres::{AsyncMessage, Client, Connection, Error, Row, SimpleQueryMessage, Statement};

use super::address::Address;
use super::error::{Step, lost, stated};
use super::value::{Argument, PostgresRow};
use crate::store::driver::{Class, Each, Patience, StoreError};

/// How long a server may take for an answer before it counts as lost. A commit waits for a standby within it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most rows that are taken from the connection at once.
const ROWS: usize = 256;

/// What a server warned of last.
type Warning = Arc<Mutex<Option<String>>>;

/// How many notifications a connection keeps until somebody asks. They are hints: what comes beyond is dropped.
const NOTIFICATIONS: usize = 256;

/// A connection, and the runtime that drives it.
pub struct Wire {
    client: Arc<Client>,
    waiting: Vec<Waiting>,
    notifications: Receiver<String>,
    warning: Warning,
    patience: Option<Duration>,
    /// Whether somebody else was in the way for longer than is waited.
    waited_in_vain: bool,
    /// There until the connection is dropped.
    runtime: Option<Runtime>,
}

/// Something that is sent to the server and whose answer is only that it was done.
pub enum Request {
    /// Statements as a text.
    Plain(String),
    /// A prepared statement with its values.
    Write {
        /// The statement.
        statement: Statement,
        /// Its values.
        values: Vec<Argument>,
        /// How many rows it must change, if that is known.
        rows: Option<u64>,
    },
}

/// A request that was not answered yet; it is sent when it is first polled.
struct Waiting {
    sent: Sent,
    answer: Option<Result<u64, Error>>,
    rows: Option<u64>,
}

impl Waiting {
    fn is_answered(&mut self, context: &mut Context<'_>) -> bool {
        if self.answer.is_none()
            && let Poll::Ready(ready) = self.sent.as_mut().poll(context)
        {
            self.answer = Some(ready);
        }
        self.answer.is_some()
    }

    fn count(self, step: Step) -> Result<u64, StoreError> {
        let count = self.answer.expect("all were answered").map_err(|error| stated(&error, step))?;
        match self.rows {
            Some(rows) if rows != count => {
                Err(StoreError::corrupt(format!("{count} rows were changed, not {rows}")))
            }
            Some(_) | None => Ok(count),
        }
    }
}

impl Wire {
    /// Connects to a server.
    pub fn connect(address: &Address) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::new(Class::Other, format!("no runtime: {error}")))?;
        // The client's own limit ends with the call that the host's kernel takes, also for a server that stands still.
        let within = address.config.get_connect_timeout().copied().unwrap_or(PATIENCE);
        let connected = runtime
            .block_on(async { tokio::time::timeout(within, address.config.connect(address.tls())).await });
        let connected = connected.map_err(|_| lost(Step::Before, "the host says nothing"))?;
        let (client, connection) = connected.map_err(|error| stated(&error, Step::Before))?;
        let warning = Warning::default();
        let (notify, notifications) = channel(NOTIFICATIONS);
        runtime.spawn(drive(connection, warning.clone(), notify));
        Ok(Self {
            client: Arc::new(client),
            waiting: Vec::new(),
            notifications,
            warning,
            patience: Some(PATIENCE),
            waited_in_vain: false,
            runtime: Some(runtime),
        })
    }

    /// Says how long each answer may take from now on.
    pub fn set_patience(&mut self, patience: Patience) {
        self.patience = match patience {
            Patience::Bounded => Some(PATIENCE),
            Patience::Unbounded => None,
        };
    }

    /// Asks a question without preparing it, and returns the first value of its answer.
    pub fn asked(&self, sql: &str) -> Result<String, StoreError> {
        let messages = self.wait(Step::Before, self.client.simple_query(sql))?;
        let rows = messages
            .iter()
            .filter_map(|message| if let SimpleQueryMessage::Row(row) = message { row.get(0) } else { None });
        let row = rows.last();
        Ok(row.unwrap_or_default().to_owned())
    }

    /// Prepares a statement.
    pub fn prepare(&self, sql: &str) -> Result<Statement, StoreError> {
        self.wait(Step::Before, self.client.prepare(sql))
    }

    /// Keeps a request until something is sent.
    pub fn later(&mut self, request: Request) {
        let client = self.client.clone();
        let (sent, rows): (Sent, _) = match request {
            Request::Plain(sql) => {
                (Box::pin(async move { client.batch_execute(&sql).await.map(|()| 0) }), None)
            }
            Request::Write { statement, values, rows } => {
                (Box::pin(async move { client.execute_raw(&statement, &values).await }), rows)
            }
        };
        self.waiting.push(Waiting { sent, answer: None, rows });
    }

    /// Forgets the requests that were not answered.
    pub fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Sends all that waits, waits for all answers, and returns how many rows the last request changed. Of several that
    /// fail, the first is told: the others failed because of it.
    pub fn finish(&mut self, step: Step) -> Result<u64, StoreError> {
        self.finish_with(step, async { Ok(()) }).map(|(count, ())| count)
    }

    /// Sends all that waits and a question behind it, and hands over each row of its answer.
    pub fn ask(
        &mut self,
        (statement, values): (&Statement, &[Argument]),
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        let client = self.client.clone();
        let asked = async { client.query_raw(statement, values).await };
        let (_, stream) = self.finish_with(Step::Before, asked)?;
        let mut parts = pin!(stream.try_ready_chunks(ROWS));
        loop {
            let part = self.wait(Step::Before, async { parts.try_next().await.map_err(|error| error.1) })?;
            let Some(part) = part else { return Ok(()) };
            part.iter().try_for_each(|row| each(&PostgresRow(row)))?;
        }
    }

    /// Sends all that waits and several questions behind it, and returns the rows of each. Their answers are few.
    pub fn ask_all<'q>(
        &mut self,
        questions: impl Iterator<Item = (&'q Statement, &'q [Argument])>,
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let client = self.client.clone();
        let asked = try_join_all(questions.map(|(statement, values)| {
            let client = &client;
            async move { client.query_raw(statement, values).await?.try_collect().await }
        }));
        self.finish_with(Step::Before, asked).map(|(_, answers)| answers)
    }

    /// Sends all that waits and something behind it, and waits for everything.
    fn finish_with<T>(
        &mut self,
        step: Step,
        last: impl Future<Output = Result<T, Error>>,
    ) -> Result<(u64, T), StoreError> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let (mut last, mut found) = (pin!(last), None);
        let all = poll_fn(|context| {
            // Each in its turn, since the first look at one sends it.
            let mut is_done = true;
            for request in &mut waiting {
                is_done &= request.is_answered(context);
            }
            if found.is_none()
                && let Poll::Ready(ready) = last.as_mut().poll(context)
            {
                found = Some(ready);
            }
            if is_done && found.is_some() { Poll::Ready(Ok(())) } else { Poll::Pending }
        });
        self.wait(step, all)?;
        let count = waiting.into_iter().try_fold(0, |_, request| request.count(step));
        let count = count.inspect_err(|error| self.waited_in_vain |= error.class == Class::Busy)?;
        let found = found.expect("it was waited for").map_err(|error| stated(&error, step))?;
        Ok((count, found))
    }

    /// Whether, since this was asked last, somebody else was in the way for longer than is waited.
    pub fn waited_in_vain(&mut self) -> bool {
        std::mem::take(&mut self.waited_in_vain)
    }

    /// What the server warned of last since somebody asked.
    pub fn warning(&self) -> Option<String> {
        locked(&self.warning).take()
    }

    /// Waits until the server notifies of something, at most so long, and returns what it says.
    pub fn notified(&mut self, within: Duration) -> Result<Option<String>, StoreError> {
        let runtime = self.runtime.as_ref().expect("it is there until the connection is dropped");
        let notifications = &mut self.notifications;
        match runtime.block_on(async { tokio::time::timeout(within, notifications.recv()).await }) {
            Ok(Some(notification)) => Ok(Some(notification)),
            Ok(None) => Err(lost(Step::Before, "the connection has ended")),
            Err(_) => Ok(None),
        }
    }

    fn wait<T>(&self, step: Step, answer: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        let runtime = self.runtime.as_ref().expect("it is there until the connection is dropped");
        let answered = match self.patience {
            None => Ok(runtime.block_on(answer)),
            // The clock of the runtime is there only within it.
            Some(patience) => runtime.block_on(async { tokio::time::timeout(patience, answer).await }),
        };
        match answered {
            Ok(answer) => answer.map_err(|error| stated(&error, step)),
            Err(_) => Err(lost(step, "the server does not answer")),
        }
    }
}

/// Also in a place where nobody may wait: the end of a connection is not waited for.
impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn locked(warning: &Mutex<Option<String>>) -> MutexGuard<'_, Option<String>> {
    warning.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request on its way.
type Sent = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send>>;

/// Moves what is sent and received until the connection ends.
async fn drive<S, T>(mut connection: Connection<S, T>, warning: Warning, notify: Sender<String>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notice(notice))) if notice.severity() == "WARNING" => {
                *locked(&warning) = Some(notice.message().to_owned());
            }
            Some(Ok(AsyncMessage::Notification(told))) => drop(notify.try_send(told.payload().to_owned())),
            Some(Ok(_)) => {}
            // Whoever waits for an answer hears of the end itself.
            Some(Err(_)) | None => return,
        }
    }
}
