//! A picture of lines over sizes, both in powers of ten, as SVG that reads well on light and dark.

use std::fmt::Write as _;

/// Width and height of the picture, and the room around the lines.
const SIZE: (f64, f64) = (760.0, 420.0);
const LEFT: f64 = 60.0;
const RIGHT: f64 = 220.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// How far apart the names at the lines' ends stand at least.
const NAME_STEP: f64 = 16.0;
/// Colours that can be told apart, also by most of those who see fewer of them (Okabe and Ito, 2008).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f"];

/// A line of the picture.
pub struct Line {
    /// What it shows.
    pub name: String,
    /// Its value at each size.
    pub values: Vec<f64>,
}

/// Draws lines over sizes.
pub fn plot(title: &str, (across, up): (&str, &str), sizes: &[f64], lines: &[Line]) -> String {
    let x = Axis::over(sizes.iter().copied(), LEFT, SIZE.0 - RIGHT);
    let y = Axis::over(lines.iter().flat_map(|line| line.values.iter().copied()), SIZE.1 - BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#808080\">\n<title>{title}</title>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{title}</text>\n",
        SIZE.0, SIZE.1
    );
    draw_grid(&mut svg, &x, &y);
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{across}</text>\
         <text x=\"14\" y=\"{:.1}\" transform=\"rotate(-90 14 {:.1})\" text-anchor=\"middle\">{up}</text>",
        (LEFT + SIZE.0 - RIGHT) / 2.0,
        SIZE.1 - 10.0,
        SIZE.1 / 2.0,
        SIZE.1 / 2.0
    );
    draw_lines(&mut svg, &x, &y, sizes, lines);
    svg.push_str("</svg>\n");
    svg
}

/// A line across the picture at every power of ten of both axes, with its number.
fn draw_grid(svg: &mut String, x: &Axis, y: &Axis) {
    for power in x.powers() {
        let at = x.place(power);
        let _ = writeln!(
            svg,
            "<path d=\"M{at:.1} {TOP}V{:.1}\" stroke=\"#80808040\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{power}</text>",
            SIZE.1 - BOTTOM,
            SIZE.1 - BOTTOM + 18.0,
        );
    }
    for power in y.powers() {
        let at = y.place(power);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"#80808040\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{power}</text>",
            SIZE.0 - RIGHT,
            LEFT - 6.0,
            at + 4.0,
        );
    }
}

/// The lines, and their names from the highest line to the lowest, each at its line's end or below the one before.
fn draw_lines(svg: &mut String, x: &Axis, y: &Axis, sizes: &[f64], lines: &[Line]) {
    let mut ends: Vec<(f64, &Line, &str)> = lines
        .iter()
        .zip(COLOURS.iter().cycle())
        .map(|(line, colour)| (line.values.last().map_or(0.0, |value| y.place(*value)), line, *colour))
        .collect();
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut above = f64::NEG_INFINITY;
    for (end, line, colour) in ends {
        let points: Vec<String> = sizes
            .iter()
            .zip(&line.values)
            .map(|(size, value)| format!("{:.1},{:.1}", x.place(*size), y.place(*value)))
            .collect();
        above = end.max(above + NAME_STEP);
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            points.join(" "),
            SIZE.0 - RIGHT + 8.0,
            above + 4.0,
            line.name
        );
    }
}

/// An axis in powers of ten: the exponents at its ends, and where in the picture these are.
struct Axis {
    exponents: (f64, f64),
    ends: (f64, f64),
}

impl Axis {
    /// From the power of ten below all values to the one above them.
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) =
            values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        Self { exponents: (low.log10().floor(), high.log10().ceil()), ends: (from, to) }
    }

    /// Where a value is.
    fn place(&self, value: f64) -> f64 {
        let (low, high) = self.exponents;
        let (from, to) = self.ends;
        from + (value.log10() - low) / (high - low) * (to - from)
    }

    /// The powers of ten on it.
    fn powers(&self) -> impl Iterator<Item = f64> {
        let (low, high) = self.exponents;
        let exponents = std::iter::successors(Some(low), |exponent| Some(exponent + 1.0));
        exponents.take_while(move |exponent| *exponent <= high).map(|exponent| 10f64.powf(exponent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_inside_and_names_do_not_overlap() {
        let line = |name: &str, values: &[f64]| Line { name: name.to_owned(), values: values.to_vec() };
        let lines = [line("a", &[0.2, 0.2]), line("b", &[0.2, 0.21]), line("c", &[9.0, 90.0])];
        let svg = plot("Cost", ("tasks", "ms"), &[1_000.0, 1_000_000.0], &lines);
        assert_eq!(svg.matches("<polyline").count(), 3);
        let names: Vec<f64> = svg
            .lines()
            .filter(|line| line.starts_with("<polyline"))
            .map(|line| line.rsplit_once(" y=\"").expect("a name").1)
            .map(|rest| rest.split('"').next().and_then(|y| y.parse().ok()).expect("a place"))
            .collect();
        assert!(names.windows(2).all(|pair| pair[1] - pair[0] >= NAME_STEP), "{names:?}");
        assert!(names.iter().all(|y| (TOP..SIZE.1 - BOTTOM + NAME_STEP).contains(y)), "{names:?}");
    }
}
