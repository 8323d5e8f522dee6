//! Writing SVG elements.

use super::style::literal_style;

/// Room around a picture on paper.
const MARGIN: f64 = 16.0;

/// Alignment of a text relative to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Text begins at the position.
    Start,
    /// Text is centred on the position.
    Middle,
    /// Text ends at the position.
    End,
}

/// A picture in the making. The bytes depend on the calls alone.
#[derive(Debug, Clone)]
pub struct Svg {
    id: String,
    width: f64,
    height: f64,
    title: String,
    description: String,
    body: String,
    /// Cut-offs so far.
    clips: usize,
}

impl Svg {
    /// An empty picture. `id` must be unique on its page; title and description are for those who
    /// do not see it.
    pub fn new(id: &str, width: f64, height: f64, title: &str, description: &str) -> Self {
        Self {
            id: id.to_owned(),
            width,
            height,
            title: title.to_owned(),
            description: description.to_owned(),
            body: String::new(),
            clips: 0,
        }
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let (x1, y1, x2, y2) = (coord(from.0), coord(from.1), coord(to.0), coord(to.1));
        self.body.push_str(&format!(
            r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{class}"/>"#
        ));
    }

    /// A rectangle by its two corners, in any order.
    pub fn rect(&mut self, a: (f64, f64), b: (f64, f64), radius: f64, class: &str) {
        let (x, y) = (coord(a.0.min(b.0)), coord(a.1.min(b.1)));
        let (w, h) = (coord((a.0 - b.0).abs()), coord((a.1 - b.1).abs()));
        let radius =
            if radius > 0.0 { format!(r#" rx="{}""#, coord(radius)) } else { String::new() };
        self.body.push_str(&format!(
            r#"<rect x="{x}" y="{y}" width="{w}" height="{h}"{radius} class="{class}"/>"#
        ));
    }

    /// A circle.
    pub fn circle(&mut self, at: (f64, f64), radius: f64, class: &str) {
        let (x, y, r) = (coord(at.0), coord(at.1), coord(radius));
        self.body.push_str(&format!(r#"<circle cx="{x}" cy="{y}" r="{r}" class="{class}"/>"#));
    }

    /// A path; nothing where the path is empty.
    pub fn path(&mut self, path: &Path, class: &str) {
        if !path.data.is_empty() {
            self.body.push_str(&format!(r#"<path d="{}" class="{class}"/>"#, path.data));
        }
    }

    /// A line with a head at its end; too short a line gets a head only.
    pub fn arrow(&mut self, from: (f64, f64), to: (f64, f64), head: f64, class: &str) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        if !length.is_finite() || length <= 0.0 {
            return;
        }
        let (ux, uy) = (dx / length, dy / length);
        let base = (to.0 - ux * head, to.1 - uy * head);
        if length > head {
            self.line(from, base, &format!("{class}-line"));
        }
        let side = head * 0.5;
        let mut path = Path::default();
        path.move_to(to);
        path.line_to((base.0 - uy * side, base.1 + ux * side));
        path.line_to((base.0 + uy * side, base.1 - ux * side));
        path.close();
        self.path(&path, &format!("{class}-head"));
    }

    /// A text on one line. The class sets size and colour; see [`STYLE`](super::STYLE).
    pub fn text(&mut self, at: (f64, f64), text: &str, anchor: Anchor, class: &str) {
        self.named_text(at, text, None, anchor, class);
    }

    /// A text that may have been shortened, with the full text as its tooltip.
    pub fn named_text(
        &mut self,
        at: (f64, f64),
        text: &str,
        full: Option<&str>,
        anchor: Anchor,
        class: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let tip = full.filter(|f| *f != text).map(|f| format!("<title>{}</title>", escape(f)));
        self.body.push_str(&format!(
            r#"<text x="{}" y="{}"{anchor} class="{class}">{}{}</text>"#,
            coord(at.0),
            coord(at.1),
            tip.unwrap_or_default(),
            escape(text)
        ));
    }

    /// Everything until [`Svg::end_clip`] is cut off at this rectangle.
    pub fn begin_clip(&mut self, a: (f64, f64), b: (f64, f64)) {
        let mut id = format!("{}-clip", escape(&self.id));
        if self.clips > 0 {
            id += &self.clips.to_string();
        }
        self.clips += 1;
        self.body.push_str(&format!(r#"<clipPath id="{id}">"#));
        self.rect(a, b, 0.0, "clip");
        self.body.push_str(&format!(r#"</clipPath><g clip-path="url(#{id})">"#));
    }

    /// Everything until [`Svg::end_part`] has its origin here: one of several drawings in a
    /// picture.
    pub fn begin_part(&mut self, at: (f64, f64)) {
        self.body.push_str(&format!(
            r#"<g transform="translate({} {})">"#,
            coord(at.0),
            coord(at.1)
        ));
    }

    /// Ends the part.
    pub fn end_part(&mut self) {
        self.body.push_str("</g>");
    }

    /// Ends the cut-off.
    pub fn end_clip(&mut self) {
        self.body.push_str("</g>");
    }

    /// The picture for a page that carries [`STYLE`](super::STYLE).
    pub fn inline(&self) -> String {
        self.written("", 0.0, "")
    }

    /// The picture as a file of its own, with its style sheet inside.
    pub fn standalone(&self) -> String {
        self.to_file(0.0, "")
    }

    /// As [`Svg::standalone`], with a margin and a background, so that it can be read on a page of
    /// any colour.
    pub fn on_paper(&self) -> String {
        let corner = coord(-MARGIN);
        let (w, h) = (coord(self.width + 2.0 * MARGIN), coord(self.height + 2.0 * MARGIN));
        let paper =
            format!(r#"<rect x="{corner}" y="{corner}" width="{w}" height="{h}" class="paper"/>"#);
        self.to_file(MARGIN, &paper)
    }

    fn to_file(&self, margin: f64, paper: &str) -> String {
        let head = format!("<style>\n{}</style>{paper}", literal_style());
        self.written(r#" xmlns="http://www.w3.org/2000/svg""#, margin, &head) + "\n"
    }

    fn written(&self, namespace: &str, margin: f64, head: &str) -> String {
        let (id, corner) = (escape(&self.id), coord(-margin));
        let (w, h) = (coord(self.width + 2.0 * margin), coord(self.height + 2.0 * margin));
        format!(
            concat!(
                r#"<svg{} class="plot" viewBox="{} {} {} {}" width="{}" height="{}" role="img" "#,
                r#"aria-labelledby="{}-t {}-d"><title id="{}-t">{}</title>"#,
                r#"<desc id="{}-d">{}</desc>{}{}</svg>"#
            ),
            namespace,
            corner,
            corner,
            w,
            h,
            w,
            h,
            id,
            id,
            id,
            escape(&self.title),
            id,
            escape(&self.description),
            head,
            self.body
        )
    }
}

/// The outline of a shape.
#[derive(Debug, Clone, Default)]
pub struct Path {
    data: String,
}

impl Path {
    /// Starts a new piece.
    pub fn move_to(&mut self, at: (f64, f64)) {
        self.data.push_str(&format!("M{} {}", coord(at.0), coord(at.1)));
    }

    /// A straight line to a point.
    pub fn line_to(&mut self, to: (f64, f64)) {
        self.data.push_str(&format!("L{} {}", coord(to.0), coord(to.1)));
    }

    /// Closes the piece.
    pub fn close(&mut self) {
        self.data.push('Z');
    }

    /// A dot, drawn by a round line end.
    pub fn dot(&mut self, at: (f64, f64)) {
        self.data.push_str(&format!("M{} {}h0", coord(at.0), coord(at.1)));
    }

    /// A small cross.
    pub fn cross(&mut self, at: (f64, f64), size: f64) {
        self.move_to((at.0 - size, at.1 - size));
        self.data.push_str(&format!("l{0} {0}", coord(2.0 * size)));
        self.move_to((at.0 - size, at.1 + size));
        self.data.push_str(&format!("l{} {}", coord(2.0 * size), coord(-2.0 * size)));
    }

    /// A line through points.
    pub fn through(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut path = Self::default();
        for point in points {
            if path.data.is_empty() { path.move_to(point) } else { path.line_to(point) }
        }
        path
    }
}

/// Escapes text for elements and attributes, and drops characters that XML forbids.
///
/// ```
/// assert_eq!(probe_experiments::plot::escape("a<b & \"c\"\u{0}"), "a&lt;b &amp; &quot;c&quot;");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

/// A coordinate with at most one decimal; far-out and missing values are held near the picture.
fn coord(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e5, 1e5) } else { 0.0 };
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standalone_pictures_are_well_formed() {
        let mut svg = Svg::new("p\"1", 100.0, 50.0, "a < b", "c & d");
        svg.begin_clip((0.0, 0.0), (100.0, 50.0));
        svg.arrow((1.0, 1.0), (90.0, 40.0), 8.0, "arrow");
        svg.arrow((1.0, 1.0), (1.0, 1.0), 8.0, "arrow");
        svg.circle((f64::NAN, f64::INFINITY), 3.0, "dot");
        svg.end_clip();
        svg.named_text((5.0, 5.0), "lo…", Some("long <name>"), Anchor::End, "label");
        let text = svg.standalone();
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().tag_name().name(), "svg");
        assert!(!text.contains("NaN") && !text.contains("inf"));
        assert!(text.contains("long &lt;name&gt;"));
    }

    #[test]
    fn a_picture_on_paper_has_a_margin_all_around() {
        let text = Svg::new("p", 100.0, 50.0, "", "").on_paper();
        assert!(text.contains(r#"viewBox="-16 -16 132 82" width="132" height="82""#), "{text}");
        assert!(
            text.contains(r#"<rect x="-16" y="-16" width="132" height="82" class="paper"/>"#),
            "{text}"
        );
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(coord(-0.01), "0");
        assert_eq!(coord(12.0), "12");
        assert_eq!(coord(12.34), "12.3");
        assert_eq!(coord(f64::NAN), "0");
    }
}
