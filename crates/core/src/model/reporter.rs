//! A reporter: a helper that may renew the lease of one attempt, within the window that its holder declared. What is kept of
//! its secret is the hash; the text is [`crate::token::ReporterSecret`].

use super::ids::{AttemptId, Digest, OperationId, PrincipalName, ReporterId, SessionId, TokenId};
use super::time::FleetTime;
use crate::mutant::Mutant;
use crate::secret::digest;

/// What is kept of a reporter. It ends with its window, and with whatever let its holder make it: the attempt, the session
/// and the token. None of that is written here, so nothing has to notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reporter {
    /// What it is called by.
    pub id: ReporterId,
    /// The one attempt whose lease it renews.
    pub attempt: AttemptId,
    /// The session that made it.
    pub session: SessionId,
    /// Whose session that is.
    pub principal: PrincipalName,
    /// The token that the session came with by the network.
    pub token: Option<TokenId>,
    /// The hash of its secret.
    pub hash: Digest,
    /// What it watches, as its holder says.
    pub watches: String,
    /// When it was made.
    pub created_at: FleetTime,
    /// The end of its window, beyond which it renews nothing. Equality is over.
    pub until: FleetTime,
    /// When it was ended before that.
    pub ended_at: Option<FleetTime>,
    /// When it renewed last.
    pub renewed_at: Option<FleetTime>,
    /// The operation id of that: a repeated renewal answers the same.
    pub renewed_operation: Option<OperationId>,
}

impl Reporter {
    /// Whether its own window lets it renew at a moment.
    #[must_use]
    pub fn may_renew(&self, now: FleetTime) -> bool {
        let is_over = now.has_reached(self.until) && !Mutant::ReporterBeyondWindow.is_on();
        let is_ended = self.ended_at.is_some() && !Mutant::ReporterEnded.is_on();
        !is_over && !is_ended
    }

    /// What the record keeps of the row, so that one that was changed in the store without the coordinator shows. Renewals
    /// leave no event, so they are no part of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let times = [self.created_at.0.to_be_bytes(), self.until.0.to_be_bytes()];
        let ended = self.ended_at.map(|at| at.0.to_be_bytes().to_vec()).unwrap_or_default();
        let token = self.token.as_ref().map(TokenId::as_str).unwrap_or_default();
        digest(
            "tenure reporter record v1",
            &[
                self.id.as_str().as_bytes(),
                self.attempt.to_string().as_bytes(),
                self.session.as_str().as_bytes(),
                self.principal.as_str().as_bytes(),
                token.as_bytes(),
                &self.hash.0,
                self.watches.as_bytes(),
                &times[0],
                &times[1],
                &ended,
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reporter() -> Reporter {
        Reporter {
            id: ReporterId::of(&Digest([7; 32])),
            attempt: "afc-1@2".parse().expect("an attempt"),
            session: "0".repeat(32).parse().expect("a session"),
            principal: "ada".parse().expect("a name"),
            token: None,
            hash: Digest([7; 32]),
            watches: "cargo test".to_owned(),
            created_at: FleetTime(1),
            until: FleetTime(5),
            ended_at: None,
            renewed_at: None,
            renewed_operation: None,
        }
    }

    #[test]
    fn it_renews_until_its_window_ends_or_it_is_ended() {
        let reporter = reporter();
        assert!(reporter.may_renew(FleetTime(4)) && !reporter.may_renew(FleetTime(5)));
        let ended = Reporter { ended_at: Some(FleetTime(2)), ..reporter };
        assert!(!ended.may_renew(FleetTime(3)));
    }

    #[test]
    fn whatever_of_a_row_is_changed_but_its_renewals_changes_its_digest() {
        let reporter = reporter();
        let others = [
            Reporter { id: ReporterId::of(&Digest([8; 32])), ..reporter.clone() },
            Reporter { attempt: "afc-1@3".parse().expect("an attempt"), ..reporter.clone() },
            Reporter { session: "1".repeat(32).parse().expect("a session"), ..reporter.clone() },
            Reporter { principal: "bob".parse().expect("a name"), ..reporter.clone() },
            Reporter { token: Some(TokenId::of(&Digest([8; 32]))), ..reporter.clone() },
            Reporter { hash: Digest([8; 32]), ..reporter.clone() },
            Reporter { watches: "cargo".to_owned(), ..reporter.clone() },
            Reporter { created_at: FleetTime(2), ..reporter.clone() },
            Reporter { until: FleetTime(6), ..reporter.clone() },
            Reporter { ended_at: Some(FleetTime(0)), ..reporter.clone() },
        ];
        for other in others {
            assert_ne!(other.digest(), reporter.digest(), "{other:?}");
        }
        let renewed = Reporter { renewed_at: Some(FleetTime(3)), ..reporter.clone() };
        assert_eq!(renewed.digest(), reporter.digest());
    }
}
