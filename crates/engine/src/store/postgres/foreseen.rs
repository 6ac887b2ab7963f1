//! Questions that will be asked in a transaction. They are sent together when the first of them is asked, and the others
//! find their answers here: a round trip costs more than most of our questions.

use tokio_postgres::{Row, Statement};

use super::value::Argument;
use crate::store::driver::Value;

/// The questions of a transaction that are still to be asked.
#[derive(Default)]
pub struct Foreseen(Vec<Question>);

/// A question, with its answer once it was sent.
pub struct Question {
    sql: String,
    /// What is sent.
    pub statement: Statement,
    /// With these values.
    pub values: Vec<Argument>,
    answer: Option<Vec<Row>>,
}

impl Foreseen {
    /// Notes a question, unless it is noted already.
    pub fn note(&mut self, sql: &str, statement: Statement, values: &[Value<'_>]) {
        if self.place(sql, values).is_some() {
            return;
        }
        let values = Argument::all(values);
        self.0.push(Question { sql: sql.to_owned(), statement, values, answer: None });
    }

    /// Whether a question was foreseen, and where its place is.
    pub fn place(&self, sql: &str, values: &[Value<'_>]) -> Option<usize> {
        self.0.iter().position(|question| question.sql == sql && question.values == values)
    }

    /// Takes the answer at a place, if it is there. Whoever asks again asks the database.
    pub fn answer(&mut self, place: usize) -> Option<Vec<Row>> {
        let answer = self.0[place].answer.take()?;
        self.0.swap_remove(place);
        Some(answer)
    }

    /// The questions that have no answer yet.
    pub fn unanswered(&self) -> impl Iterator<Item = &Question> {
        self.0.iter().filter(|question| question.answer.is_none())
    }

    /// Takes in the answers of those, in their order.
    pub fn answered(&mut self, answers: Vec<Vec<Row>>) {
        let unanswered = self.0.iter_mut().filter(|question| question.answer.is_none());
        unanswered.zip(answers).for_each(|(question, answer)| question.answer = Some(answer));
    }

    /// Forgets them: what is written, or another transaction, may answer otherwise.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}
