//! The radar as a self-contained SVG: what the page shows is what is saved. Colours stand as plain
//! attributes; on the page the classes of `style/charts.css` override them for each theme.

use super::Point;
use super::palette::{Style, style};
use super::radar::{Anchor, Radar, Stretch};
use super::scale::ticks;
use std::fmt::Write;

/// Numbers and words of one radar.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Unique in its document; names the title for screen readers.
    pub id: String,
    pub title: String,
    /// Says in words what the picture says.
    pub description: String,
    pub axes: Vec<String>,
    /// End of every axis.
    pub max: f64,
    pub series: Vec<Series>,
    /// Lines below the legend: n, judge, data set, date.
    pub caption: Vec<String>,
}

/// One polygon.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    /// One for each axis.
    pub values: Vec<Option<f64>>,
    /// Place in the palette.
    pub style: usize,
    /// A published row: no fill, so that it reads as reference.
    pub reference: bool,
}

/// Width of every figure, in its own units.
pub const WIDTH: f64 = 480.0;
const RADIUS: f64 = 150.0;
const TOP: f64 = 210.0;
const LEGEND: f64 = 400.0;
pub(super) const LINE: f64 = 20.0;
/// Letters that fit the width of a legend or caption line, wide fonts included.
const LINE_CHARS: usize = 52;

/// Height of a figure, in the units of [`WIDTH`].
pub fn height(figure: &Figure) -> f64 {
    let names = figure.series.iter().map(|series| &series.name);
    let lines = names.chain(&figure.caption).map(|text| wrap(text).len());
    LEGEND + LINE * lines.sum::<usize>() as f64 + 16.0
}

/// The whole figure.
pub fn radar(figure: &Figure) -> String {
    let frame = Radar {
        axes: figure.axes.len(),
        centre: Point {
            x: WIDTH / 2.0,
            y: TOP,
        },
        radius: RADIUS,
        max: figure.max,
    };
    let mut out = open(
        "radar",
        &figure.id,
        height(figure),
        &figure.title,
        &figure.description,
    );
    grid(&mut out, &frame, &figure.axes);
    for series in &figure.series {
        line(&mut out, &frame, series);
    }
    let below = legend(&mut out, &figure.series);
    captions(&mut out, below, &figure.caption);
    out.push_str("</svg>");
    out
}

/// The start of every figure: its size, its name and description for screen readers, its ground.
pub(super) fn open(kind: &str, id: &str, height: f64, title: &str, description: &str) -> String {
    let (id, title, description) = (escape(id), escape(title), escape(description));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart {kind}\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\
         <title id=\"{id}-title\">{title}</title><desc id=\"{id}-desc\">{description}</desc>\
         <rect class=\"chart-ground\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
    )
}

/// The lines of a caption, the first at `y`.
pub(super) fn captions(out: &mut String, y: f64, caption: &[String]) {
    for (n, text) in caption.iter().flat_map(|text| wrap(text)).enumerate() {
        let at = Point {
            x: 16.0,
            y: y + LINE * n as f64,
        };
        label(out, "chart-caption", "#5f6270", at, Anchor::Start, &text);
    }
}

fn grid(out: &mut String, frame: &Radar, axes: &[String]) {
    for value in ticks(frame.max, 5) {
        shape(
            out,
            "chart-grid",
            &points(&frame.ring(value)),
            true,
            "stroke=\"#8d8a80\" stroke-width=\"0.6\"",
        );
    }
    for (axis, name) in axes.iter().enumerate() {
        let spoke = points(&[frame.centre, frame.point(axis, frame.max)]);
        shape(
            out,
            "chart-grid",
            &spoke,
            false,
            "stroke=\"#8d8a80\" stroke-width=\"0.6\"",
        );
        let (at, anchor) = frame.label(axis, 14.0);
        // Text hangs from its baseline: a third of its height down centres it.
        label(
            out,
            "chart-axis",
            "#1d1e24",
            Point {
                y: at.y + 4.5,
                ..at
            },
            anchor,
            name,
        );
    }
    for value in ticks(frame.max, 5) {
        let at = frame.point(0, value);
        label(
            out,
            "chart-tick",
            "#5f6270",
            Point {
                x: at.x + 4.0,
                y: at.y + 4.0,
            },
            Anchor::Start,
            &value.to_string(),
        );
    }
}

fn line(out: &mut String, frame: &Radar, series: &Series) {
    let look = style(series.style);
    let fill = if series.reference { "0" } else { "0.12" };
    let _ = write!(
        out,
        "<g class=\"{}\"><title>{}</title>",
        look.class,
        escape(&series.name)
    );
    for Stretch {
        points: place,
        closed,
    } in frame.stretches(&series.values)
    {
        let area = if closed { fill } else { "0" };
        let attributes = format!(
            "fill=\"{}\" fill-opacity=\"{area}\" {} stroke-linejoin=\"round\"",
            look.light,
            stroke(look)
        );
        shape(out, "chart-line", &points(&place), closed, &attributes);
    }
    for at in frame.markers(&series.values) {
        marker(out, look, at);
    }
    out.push_str("</g>");
}

fn stroke(look: Style) -> String {
    let dash = match look.dash {
        "" => String::new(),
        dash => format!(" stroke-dasharray=\"{dash}\""),
    };
    format!("stroke=\"{}\" stroke-width=\"2\"{dash}", look.light)
}

fn marker(out: &mut String, look: Style, at: Point) {
    let _ = write!(
        out,
        "<path class=\"chart-marker\" d=\"{}\" fill=\"{1}\" stroke=\"{1}\" stroke-width=\"1.5\"/>",
        look.marker.path(at, 3.5),
        look.light
    );
}

/// Names with a piece of their line; returns where the next line stands.
fn legend(out: &mut String, series: &[Series]) -> f64 {
    let mut y = LEGEND;
    for series in series {
        let (look, middle) = (style(series.style), y - 4.5);
        let [from, mid, to] = [16.0, 30.0, 44.0].map(|x| Point { x, y: middle });
        let _ = write!(out, "<g class=\"{}\">", look.class);
        let attributes = format!("fill=\"none\" {}", stroke(look));
        shape(out, "chart-line", &points(&[from, to]), false, &attributes);
        marker(out, look, mid);
        out.push_str("</g>");
        for text in wrap(&series.name) {
            let at = Point { x: 52.0, y };
            label(out, "chart-legend", "#1d1e24", at, Anchor::Start, &text);
            y += LINE;
        }
    }
    y
}

fn shape(out: &mut String, class: &str, points: &str, closed: bool, attributes: &str) {
    let tag = if closed { "polygon" } else { "polyline" };
    let fill = if attributes.contains("fill=") {
        ""
    } else {
        " fill=\"none\""
    };
    let _ = write!(
        out,
        "<{tag} class=\"{class}\" points=\"{points}\" {attributes}{fill}/>"
    );
}

pub(super) fn label(
    out: &mut String,
    class: &str,
    colour: &str,
    at: Point,
    anchor: Anchor,
    text: &str,
) {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (Point { x, y }, text) = (at, escape(text));
    let _ = write!(
        out,
        "<text class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
    );
}

fn points(points: &[Point]) -> String {
    let pairs: Vec<String> = points
        .iter()
        .map(|p| format!("{:.2},{:.2}", p.x, p.y))
        .collect();
    pairs.join(" ")
}

/// Lines of at most [`LINE_CHARS`] letters, broken at spaces; a longer word is broken anywhere.
pub(super) fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        if used > 0 && used + word.trim_end().chars().count() > LINE_CHARS {
            lines.push(String::new());
            used = 0;
        }
        for c in word.chars() {
            if used == LINE_CHARS && c != ' ' {
                lines.push(String::new());
                used = 0;
            }
            lines.last_mut().expect("there is always a line").push(c);
            used += 1;
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Text that cannot become markup; control characters, which XML forbids, become spaces.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap(""), [""]);
        assert_eq!(wrap("a b"), ["a b"]);
        let words = "ten letters ".repeat(6);
        assert_eq!(
            wrap(&words).concat().replace(' ', ""),
            words.replace(' ', "")
        );
        assert!(
            wrap(&words)
                .iter()
                .all(|line| line.chars().count() <= LINE_CHARS)
        );
        let word = "é".repeat(2 * LINE_CHARS + 1);
        let lengths: Vec<usize> = wrap(&word)
            .iter()
            .map(|line| line.chars().count())
            .collect();
        assert_eq!(lengths, [LINE_CHARS, LINE_CHARS, 1]);
    }
}
