//! A figure: what was measured beside what, whether that is enough, and how it is shown.

use serde_json::{Map, Value, json};

/// What a figure must reach.
#[derive(Clone, Copy)]
pub enum Target {
    /// No less than this.
    AtLeast(f64),
    /// No more than this.
    AtMost(f64),
    /// It is told and not judged.
    Told,
}

/// The unit of a figure.
#[derive(Clone, Copy)]
pub enum Unit {
    /// A multiple of what stands beside it.
    Times,
    /// Milliseconds.
    Milliseconds,
    /// 1,048,576 bytes each.
    Mebibytes,
}

/// One row of the table.
pub struct Figure {
    /// A short name for programs.
    pub name: &'static str,
    /// What was measured, for people.
    pub what: String,
    /// The result.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// What it must reach.
    pub target: Target,
    /// How long the disk took for a write and its flush while this was measured, in milliseconds.
    pub fsync_ms: f64,
    /// The numbers that the result was made of.
    pub parts: Map<String, Value>,
}

impl Figure {
    /// Whether its target was missed.
    pub fn is_missed(&self) -> bool {
        match self.target {
            // A comparison with what is not a number fails, and so does the figure.
            Target::AtLeast(least) => self.value.partial_cmp(&least).is_none_or(std::cmp::Ordering::is_lt),
            Target::AtMost(most) => self.value.partial_cmp(&most).is_none_or(std::cmp::Ordering::is_gt),
            Target::Told => false,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.target {
            Target::Told => "told",
            Target::AtLeast(_) | Target::AtMost(_) if self.is_missed() => "MISSED",
            Target::AtLeast(_) | Target::AtMost(_) => "ok",
        }
    }

    fn cells(&self) -> [String; 5] {
        let target = match self.target {
            Target::AtLeast(least) => format!("≥ {}", self.unit.trimmed(least)),
            Target::AtMost(most) => format!("≤ {}", self.unit.trimmed(most)),
            Target::Told => "–".to_owned(),
        };
        let fsync = format!("{:.3} ms", self.fsync_ms);
        [self.what.clone(), self.unit.shown(self.value), target, self.verdict().to_owned(), fsync]
    }

    /// The figure for programs.
    pub fn to_json(&self) -> Value {
        let (relation, target) = match self.target {
            Target::AtLeast(least) => (json!("at_least"), json!(least)),
            Target::AtMost(most) => (json!("at_most"), json!(most)),
            Target::Told => (Value::Null, Value::Null),
        };
        json!({
            "name": self.name,
            "what": self.what,
            "value": self.value,
            "unit": match self.unit {
                Unit::Times => "times",
                Unit::Milliseconds => "ms",
                Unit::Mebibytes => "MiB",
            },
            "relation": relation,
            "target": target,
            "missed": self.is_missed(),
            "fsync_ms": self.fsync_ms,
            "parts": self.parts,
        })
    }
}

impl Unit {
    fn shown(self, value: f64) -> String {
        match self {
            Self::Times => format!("{value:.2} ×"),
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Mebibytes => format!("{value:.1} MiB"),
        }
    }

    fn trimmed(self, value: f64) -> String {
        match self {
            Self::Times => format!("{value} ×"),
            Self::Milliseconds => format!("{value} ms"),
            Self::Mebibytes => format!("{value} MiB"),
        }
    }
}

/// Numbers by their names.
pub fn parts<const N: usize>(numbers: [(&str, Value); N]) -> Map<String, Value> {
    numbers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The figures as a table in Markdown, which also reads well in a terminal.
pub fn table(figures: &[Figure]) -> String {
    let head = ["what", "measured", "target", "", "fsync"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(figures.iter().map(Figure::cells)).collect();
    let widths: [usize; 5] =
        std::array::from_fn(|cell| rows.iter().map(|row| row[cell].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        line(&mut text, row, &widths, ' ');
        if number == 0 {
            line(&mut text, &widths.map(|width| "-".repeat(width)), &widths, '-');
        }
    }
    text
}

fn line(text: &mut String, cells: &[String; 5], widths: &[usize; 5], edge: char) {
    for (cell, width) in cells.iter().zip(widths) {
        let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
        text.push_str(&format!("|{edge}{cell}{padding}{edge}"));
    }
    text.push_str("|\n");
}

/// The middle of what was measured; of an even number, the mean of the two in the middle. None of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The same of what must have been measured.
pub fn middle(values: &[f64]) -> Result<f64, String> {
    median(values).ok_or_else(|| "no slice was measured".to_owned())
}

/// The value that so large a part of what was measured does not exceed. None of nothing.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank within a short list")]
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, target: Target) -> Figure {
        let what = "a claim".to_owned();
        Figure { name: "a", what, value, unit: Unit::Times, target, fsync_ms: 0.1, parts: Map::new() }
    }

    #[test]
    fn a_target_that_is_met_exactly_is_met_and_what_is_no_number_misses_every_target() {
        assert!(
            !figure(0.6, Target::AtLeast(0.6)).is_missed() && !figure(3.0, Target::AtMost(3.0)).is_missed()
        );
        assert!(
            figure(0.59, Target::AtLeast(0.6)).is_missed() && figure(3.1, Target::AtMost(3.0)).is_missed()
        );
        assert!(figure(f64::NAN, Target::AtLeast(0.6)).is_missed());
        assert!(figure(f64::NAN, Target::AtMost(0.6)).is_missed());
        assert!(!figure(f64::NAN, Target::Told).is_missed());
    }

    #[test]
    fn a_missed_target_stands_in_the_table() {
        let text = table(&[figure(0.5, Target::AtLeast(0.6)), figure(1.0, Target::AtLeast(0.6))]);
        assert_eq!(text.matches("MISSED").count(), 1);
        assert!(text.contains("| 0.50 ×   | ≥ 0.6 × | MISSED |"), "{text}");
    }

    #[test]
    fn medians_and_quantiles_are_values_that_were_measured() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.99), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
