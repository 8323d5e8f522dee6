//! Several charts in one picture, with a heading, a legend and a caption: a figure that can be read
//! by itself.

use super::svg::{Anchor, Svg};
use super::text::{fit, width};

const MARGIN: f64 = 18.0;
const GAP: f64 = 26.0;
/// Room for the head of a chart.
const HEAD: f64 = 26.0;
const TEXT: f64 = 13.0;
const LINE: f64 = 18.0;
/// How much wider bold letters are.
const BOLD: f64 = 1.1;

/// Parts of a figure other than its charts.
#[derive(Debug, Clone, Copy)]
pub struct Figure<'a> {
    /// Unique on a page.
    pub id: &'a str,
    /// A short title.
    pub title: &'a str,
    /// How to read it: printed below the charts, and read by screen readers.
    pub caption: &'a str,
    /// Class of a colour, and its meaning.
    pub legend: &'a [(&'a str, &'a str)],
    /// Charts side by side.
    pub columns: usize,
    /// Size of one chart.
    pub size: (f64, f64),
}

impl Figure<'_> {
    /// Draws one chart for each of `heads` by `each`, which draws at the origin in a room of
    /// `size`.
    pub fn draw(&self, heads: &[String], mut each: impl FnMut(&mut Svg, usize)) -> Svg {
        let columns = self.columns.clamp(1, heads.len().max(1));
        let rows = heads.len().div_ceil(columns);
        let (w, h) = self.size;
        let wide = columns as f64 * (w + GAP) - GAP + 2.0 * MARGIN;
        let top = MARGIN + 28.0 + if self.legend.is_empty() { 0.0 } else { 24.0 };
        let below = top + rows as f64 * (HEAD + h + GAP);
        let lines = wrapped(self.caption, wide - 2.0 * MARGIN);
        let high = below + lines.len() as f64 * LINE + MARGIN;
        let mut svg = Svg::new(self.id, wide, high, self.title, self.caption);
        svg.rect((0.0, 0.0), (wide, high), 0.0, "paper");
        svg.text((MARGIN, MARGIN + 12.0), self.title, Anchor::Start, "strong");
        let mut x = MARGIN + 5.0;
        for (class, text) in self.legend {
            svg.circle((x, MARGIN + 32.0), 5.0, &format!("{class} mark"));
            svg.text((x + 11.0, MARGIN + 36.5), text, Anchor::Start, "quiet");
            x += width(text, TEXT) + 34.0;
        }
        for (i, head) in heads.iter().enumerate() {
            let (column, row) = (i % columns, i / columns);
            let (x, y) = (MARGIN + column as f64 * (w + GAP), top + row as f64 * (HEAD + h + GAP));
            svg.begin_part((x, y + HEAD));
            svg.named_text(
                (0.0, -8.0),
                &fit(head, w / BOLD, TEXT),
                Some(head),
                Anchor::Start,
                "strong",
            );
            each(&mut svg, i);
            svg.end_part();
        }
        for (i, line) in lines.iter().enumerate() {
            svg.text((MARGIN, below + i as f64 * LINE), line, Anchor::Start, "quiet");
        }
        svg
    }
}

/// Lines of at most this width.
fn wrapped(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, TEXT) + width(word, TEXT) + 4.0 <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_fill_lines_and_no_more() {
        let text = "words of a caption that is longer than one line can be";
        let lines = wrapped(text, 150.0);
        assert!(
            lines.len() > 1 && lines.iter().all(|line| width(line, TEXT) <= 150.0),
            "{lines:?}"
        );
        assert_eq!(lines.join(" "), text);
        assert!(wrapped("", 100.0).is_empty());
    }

    #[test]
    fn every_chart_has_its_head_and_the_figure_its_caption() {
        let legend = [("s0", "ours"), ("s1", "theirs")];
        let figure = Figure {
            id: "f",
            title: "T",
            caption: "one two",
            legend: &legend,
            columns: 2,
            size: (100.0, 80.0),
        };
        let heads = ["a", "b", "c"].map(str::to_owned);
        let mut drawn = Vec::new();
        let text = figure.draw(&heads, |svg, i| {
            svg.circle((1.0, 1.0), 1.0, "mark");
            drawn.push(i);
        });
        assert_eq!(drawn, [0, 1, 2]);
        let text = text.standalone();
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(
            document.descendants().filter(|n| n.attribute("transform").is_some()).count(),
            3
        );
        for word in [">a<", ">b<", ">c<", ">one two<", ">ours<", ">theirs<"] {
            assert!(text.contains(word), "{word}");
        }
    }
}
