//! Colours of pictures.
//!
//! Pages name colours by custom properties, which browsers know. A picture in a file of its own is
//! also opened by programs that do not (librsvg, word processors, converters), and would be black
//! there: its style sheet is the same with the colours written out.

/// The classes that pictures use, with the colours of the light and the dark theme. One rule a
/// line.
pub const STYLE: &str = include_str!("style.css");

/// The style property of a series' colour; its classes set the value.
const TONE: &str = "--c";
const DARK: &str = "@media (prefers-color-scheme:dark){";

/// [`STYLE`] without custom properties: the light theme, then the rules with colours again for dark
/// screens.
pub(super) fn literal_style() -> String {
    let (light, dark) = STYLE.split_once(DARK).unwrap_or((STYLE, ""));
    let mut out = themed(light, &colours(light), false);
    out.push_str("@media screen and (prefers-color-scheme:dark){\n");
    out.push_str(&themed(light, &colours(dark), true));
    out + "}\n"
}

/// The rules of `sheet` with these colours; those without any are left out on request.
fn themed(sheet: &str, colours: &[(&str, &str)], coloured_only: bool) -> String {
    let rules = || sheet.lines().filter_map(rule);
    let tones: Vec<(&str, &str)> =
        rules().filter_map(|(class, body)| Some((class, property(body, TONE)?))).collect();
    let mut out = String::new();
    for (class, body) in rules() {
        let is_coloured = body.contains("var(");
        let sets_colours = body.starts_with("--");
        if sets_colours || (coloured_only && !is_coloured) {
            continue;
        }
        if !body.contains(&format!("var({TONE})")) {
            out.push_str(&format!("{class}{{{}}}\n", written_out(body, colours)));
            continue;
        }
        // Series and part of the drawing are classes of the same element.
        for (series, tone) in &tones {
            let part = class.trim_start_matches(".plot ");
            let body = written_out(&body.replace(&format!("var({TONE})"), tone), colours);
            out.push_str(&format!("{series}{part}{{{body}}}\n"));
        }
    }
    out
}

/// Selector and declarations of a line that is a rule.
fn rule(line: &str) -> Option<(&str, &str)> {
    line.strip_suffix('}')?.split_once('{')
}

fn property<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    body.split(';').find_map(|declaration| declaration.strip_prefix(name)?.strip_prefix(':'))
}

/// The custom properties of the first rule that has any.
fn colours(sheet: &str) -> Vec<(&str, &str)> {
    let body =
        sheet.lines().filter_map(rule).map(|(_, body)| body).find(|body| body.starts_with("--"));
    body.unwrap_or("").split(';').filter_map(|declaration| declaration.split_once(':')).collect()
}

fn written_out(body: &str, colours: &[(&str, &str)]) -> String {
    colours
        .iter()
        .fold(body.to_owned(), |body, (name, value)| body.replace(&format!("var({name})"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_their_own_write_colours_out() {
        let style = literal_style();
        assert!(!style.contains("var(") && !style.contains("--"), "{style}");
        let (light, dark) = style.split_once("@media").unwrap();
        for (part, ink, yes) in [(light, "#17232d", "#0a6a86"), (dark, "#e8eef2", "#58bfdb")] {
            assert!(part.contains(&format!(".plot text{{fill:{ink};")), "{part}");
            assert!(
                part.contains(&format!(".plot .s0.line{{stroke:{yes};stroke-width:2;")),
                "{part}"
            );
            assert!(part.contains(".plot .s2.line{stroke:#8463b0;"), "{part}");
        }
        assert!(
            light.contains(".plot .small{font-size:11px}") && !dark.contains("font-size"),
            "{style}"
        );
    }
}
