//! A connection to PostgreSQL as plain calls. Its client is asynchronous; here, and only here, it is driven to its end
//! within each call and on the caller's thread, so nothing of it goes on between calls (invariant 7).

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_postgres::{AsyncMessage, Client, Connection, Error, Row, SimpleQueryMessage, Statement};

use super::address::Address;
use super::error::{Step, lost, stated};
use super::value::{Argument, PostgresRow};
use crate::store::driver::{Class, Each, StoreError};

/// How long a server may take for an answer before it counts as lost. A commit waits for a standby within it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a server warned of last.
type Warning = Arc<Mutex<Option<String>>>;

/// How many notifications a connection keeps until somebody asks. They are hints: what comes beyond is dropped.
const NOTIFICATIONS: usize = 256;

/// A connection, and the runtime that drives it.
pub struct Wire {
    client: Client,
    notifications: Receiver<String>,
    warning: Warning,
    patience: Option<Duration>,
    /// There until the connection is dropped.
    runtime: Option<Runtime>,
}

/// Something that is sent to the server and whose answer is only that it was done.
pub enum Request<'a> {
    /// Statements as a text.
    Plain(&'a str),
    /// A prepared statement with its values.
    Write {
        /// The statement.
        statement: &'a Statement,
        /// Its values.
        values: &'a [Argument],
        /// How many rows it must change, if that is known.
        rows: Option<u64>,
    },
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
        Ok(Self { client, notifications, warning, patience: Some(PATIENCE), runtime: Some(runtime) })
    }

    /// Lets an answer take any time from now on, as long as the connection stands.
    pub fn be_patient(&mut self) {
        self.patience = None;
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

    /// Sends requests all at once, waits for all their answers, and returns how many rows the last one changed. Of
    /// several that fail, the first is told: the others failed because of it.
    pub fn send(&self, requests: &[Request<'_>], step: Step) -> Result<u64, StoreError> {
        let sent = requests.iter().map(|request| self.sent(request)).collect();
        let counts = self.wait(step, in_order(sent))?;
        check(requests, &counts)?;
        Ok(counts.last().copied().unwrap_or_default())
    }

    /// Sends requests and a question behind them, and hands over each row of its answer.
    pub fn ask(
        &self,
        requests: &[Request<'_>],
        (statement, values): (&Statement, &[Argument]),
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        let mut stream = None;
        let mut sent: Vec<Sent<'_>> = requests.iter().map(|request| self.sent(request)).collect();
        sent.push(Box::pin(async {
            stream = Some(self.client.query_raw(statement, values).await?);
            Ok(0)
        }));
        let counts = self.wait(Step::Before, in_order(sent))?;
        check(requests, &counts)?;
        let mut rows = pin!(stream.expect("the question was answered"));
        while let Some(row) = self.wait(Step::Before, rows.try_next())? {
            each(&PostgresRow(&row))?;
        }
        Ok(())
    }

    /// Sends requests and several questions behind them, and returns the rows of each. Their answers are few.
    pub fn ask_all<'q>(
        &self,
        requests: &[Request<'_>],
        questions: impl Iterator<Item = (&'q Statement, &'q [Argument])>,
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let questions: Vec<_> = questions.collect();
        let mut answers: Vec<Vec<Row>> = questions.iter().map(|_| Vec::new()).collect();
        let mut sent: Vec<Sent<'_>> = requests.iter().map(|request| self.sent(request)).collect();
        for ((statement, values), answer) in questions.into_iter().zip(&mut answers) {
            sent.push(Box::pin(async move {
                *answer = self.client.query_raw(statement, values).await?.try_collect().await?;
                Ok(0)
            }));
        }
        let counts = self.wait(Step::Before, in_order(sent))?;
        check(requests, &counts)?;
        Ok(answers)
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

    fn sent<'a>(&'a self, request: &'a Request<'_>) -> Sent<'a> {
        match request {
            Request::Plain(sql) => Box::pin(async { self.client.batch_execute(sql).await.map(|()| 0) }),
            Request::Write { statement, values, rows: _ } => {
                Box::pin(self.client.execute_raw(*statement, *values))
            }
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

fn check(requests: &[Request<'_>], counts: &[u64]) -> Result<(), StoreError> {
    for (request, count) in requests.iter().zip(counts) {
        if let Request::Write { rows: Some(rows), .. } = request
            && rows != count
        {
            return Err(StoreError::corrupt(format!("{count} rows were changed, not {rows}")));
        }
    }
    Ok(())
}

fn locked(warning: &Mutex<Option<String>>) -> MutexGuard<'_, Option<String>> {
    warning.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request on its way.
type Sent<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + 'a>>;

/// Sends requests in their order before it waits for the first, and returns their answers.
async fn in_order(mut sent: Vec<Sent<'_>>) -> Result<Vec<u64>, Error> {
    let mut answers: Vec<Option<Result<u64, Error>>> = sent.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (request, answer) in sent.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(ready) = request.as_mut().poll(context)
            {
                *answer = Some(ready);
            }
        }
        if answers.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    answers.into_iter().flatten().collect()
}

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
