//! Labels: what tasks are marked with.

use super::view::AsOf;
use super::{Answer, input, operation, output};
use crate::model::ids::ProjectKey;
use crate::model::task::LabelCount;

input! {
    /// List the labels of a project, with the tasks that have each counted
    pub struct ListLabels {
        /// The project
        #[cfg_attr(feature = "cli", arg(skip = "unset".parse::<ProjectKey>().expect("a valid key")))]
        pub project: ProjectKey,
        /// At most so many (up to 1000)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long, value_parser = super::arguments::rows()))]
        pub limit: Option<u32>,
        /// Where an earlier page ended
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "cli", arg(long))]
        pub cursor: Option<String>,
    }
}
operation!(ListLabels -> LabelList, "label.list", Get "/labels", Read, Anyone, None, [NotFound, EpochChanged]);

output! {
    /// Labels in their order.
    pub struct LabelList {
        /// The labels.
        pub labels: Vec<LabelCount>,
        /// Where to go on; absent at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
        /// What this is true at.
        pub as_of: AsOf,
    }
}
impl Answer for LabelList {}
