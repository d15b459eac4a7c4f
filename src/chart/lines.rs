//! Curves over a few named places as a self-contained SVG: dashes and markers tell them apart
//! without colours.

use super::Point;
use super::palette::style;
use super::radar::Anchor;
use super::scale::Linear;
use super::svg::{LINE, captions, label, open, wrap};
use std::fmt::Write;

/// Numbers and words of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Unique in its document; names the title for screen readers.
    pub id: String,
    pub title: String,
    /// Says in words what the picture says.
    pub description: String,
    /// Places on the x axis.
    pub xs: Vec<String>,
    /// End of the y axis, which begins at 0.
    pub max: f64,
    /// Name, and a value for each place.
    pub series: Vec<(String, Vec<Option<f64>>)>,
    pub caption: Vec<String>,
}

/// Curves that can still be told apart.
pub const MOST: usize = 6;

const LEFT: f64 = 48.0;
const RIGHT: f64 = 460.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 226.0;
const LEGEND: f64 = 272.0;

/// Height of a figure, in the units of [`super::svg::WIDTH`].
pub fn height(figure: &Lines) -> f64 {
    let names = figure.series.iter().take(MOST).map(|(name, _)| name);
    let lines: usize = names
        .chain(&figure.caption)
        .map(|text| wrap(text).len())
        .sum();
    LEGEND + LINE * lines as f64 + 8.0
}

/// The whole figure.
pub fn lines(figure: &Lines) -> String {
    let mut out = open(
        "lines",
        &figure.id,
        height(figure),
        &figure.title,
        &figure.description,
    );
    frame(&mut out, figure);
    let mut y = LEGEND;
    for (n, (name, values)) in figure.series.iter().take(MOST).enumerate() {
        curve(&mut out, figure, n, values);
        y = legend(&mut out, n, name, y);
    }
    captions(&mut out, y, &figure.caption);
    out.push_str("</svg>");
    out
}

fn height_of(figure: &Lines, value: f64) -> f64 {
    let scale = Linear {
        from: (0.0, figure.max),
        to: (BOTTOM, TOP),
    };
    scale.at(value)
}

/// Places share the width evenly.
fn place(figure: &Lines, n: usize) -> f64 {
    let step = (RIGHT - LEFT) / figure.xs.len().max(1) as f64;
    LEFT + step * (n as f64 + 0.5)
}

fn frame(out: &mut String, figure: &Lines) {
    for n in 0..=4 {
        let value = figure.max * f64::from(n) / 4.0;
        let y = height_of(figure, value);
        let _ = write!(
            out,
            "<line class=\"chart-grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#8d8a80\" stroke-width=\"0.6\"/>"
        );
        let at = Point {
            x: LEFT - 8.0,
            y: y + 4.5,
        };
        label(
            out,
            "chart-tick",
            "#5f6270",
            at,
            Anchor::End,
            &format!("{value:.0}"),
        );
    }
    for (n, name) in figure.xs.iter().enumerate() {
        let at = Point {
            x: place(figure, n),
            y: BOTTOM + 20.0,
        };
        label(out, "chart-axis", "#1d1e24", at, Anchor::Middle, name);
    }
}

/// A place without a value breaks the line.
fn curve(out: &mut String, figure: &Lines, n: usize, values: &[Option<f64>]) {
    let look = style(n);
    let at = |(n, value): (usize, &Option<f64>)| {
        value.map(|value| Point {
            x: place(figure, n),
            y: height_of(figure, value),
        })
    };
    let points: Vec<Option<Point>> = values.iter().enumerate().map(at).collect();
    let dash = match look.dash {
        "" => String::new(),
        dash => format!(" stroke-dasharray=\"{dash}\""),
    };
    let _ = write!(out, "<g class=\"{}\">", look.class);
    for stretch in points
        .split(Option::is_none)
        .filter(|stretch| stretch.len() > 1)
    {
        let places: Vec<String> = stretch
            .iter()
            .flatten()
            .map(|p| format!("{:.1},{:.1}", p.x, p.y))
            .collect();
        let _ = write!(
            out,
            "<polyline class=\"chart-line\" points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{dash}/>",
            places.join(" "),
            look.light
        );
    }
    for point in points.into_iter().flatten() {
        let _ = write!(
            out,
            "<path class=\"chart-marker\" d=\"{}\" fill=\"{1}\" stroke=\"{1}\" stroke-width=\"1.5\"/>",
            look.marker.path(point, 3.5),
            look.light
        );
    }
    out.push_str("</g>");
}

fn legend(out: &mut String, n: usize, name: &str, mut y: f64) -> f64 {
    let look = style(n);
    let _ = write!(
        out,
        "<g class=\"{}\"><path class=\"chart-marker\" d=\"{}\" fill=\"{2}\" stroke=\"{2}\" stroke-width=\"1.5\"/></g>",
        look.class,
        look.marker.path(
            Point {
                x: 24.0,
                y: y - 4.5
            },
            4.0
        ),
        look.light
    );
    for text in wrap(name) {
        label(
            out,
            "chart-legend",
            "#1d1e24",
            Point { x: 40.0, y },
            Anchor::Start,
            &text,
        );
        y += LINE;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    // Four places over 412 units: centres at 99.5, 202.5, 305.5, 408.5; 0 lies at 226, 100 at 16.
    #[test]
    fn curves_lie_where_their_values_are_and_break_where_there_is_none() {
        let figure = Lines {
            id: "c".to_owned(),
            title: "t <b>".to_owned(),
            description: "d".to_owned(),
            xs: ["1", "2", "3", "4"].map(str::to_owned).to_vec(),
            max: 100.0,
            series: vec![
                (
                    "a".to_owned(),
                    vec![Some(0.0), Some(50.0), None, Some(100.0)],
                ),
                ("b".to_owned(), vec![None; 4]),
            ],
            caption: vec!["n = 3".to_owned()],
        };
        let text = lines(&figure);
        assert!(text.contains("points=\"99.5,226.0 202.5,121.0\""), "{text}");
        assert_eq!(text.matches("<polyline").count(), 1);
        assert_eq!(text.matches("chart-marker").count(), 3 + 2);
        assert!(text.contains("t &lt;b&gt;") && !text.contains("NaN"));
    }
}
