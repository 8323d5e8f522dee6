//! Texts that name fields of a request, spelled by the front end that shows them.

use std::borrow::Cow;

/// How a front end writes the name of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `--max-rate`, on the command line.
    Flag,
    /// `max_rate`, a keyword argument of Python.
    Keyword,
    /// `/max_rate`, a place in a JSON document (RFC 6901).
    Pointer,
}

impl Spelling {
    /// The name of `field` in this spelling.
    pub fn of(self, field: &str) -> String {
        match self {
            Self::Flag => format!("--{}", field.replace('_', "-")),
            // `from` is a reserved word in Python.
            Self::Keyword if field == "from" => "origins".to_owned(),
            Self::Keyword => field.to_owned(),
            Self::Pointer => format!("/{}", field.replace('~', "~0").replace('/', "~1")),
        }
    }
}

/// A text for people, in which names of fields are kept apart from words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Cow<'static, str>),
}

impl Message {
    /// Continues with plain words.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Continues with the name of a field.
    #[must_use]
    pub fn field(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Part::Field(name.into()));
        self
    }

    /// Continues with another message.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The text as a front end shows it.
    pub fn spelled(&self, spelling: Spelling) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Field(name) => spelling.of(name),
        };
        self.0.iter().map(part).collect()
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::default().text(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::default().text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_front_end_spells_a_field_its_own_way() {
        let message = Message::from("give ").field("max_rate").text(" or ").field("from");
        assert_eq!(message.spelled(Spelling::Flag), "give --max-rate or --from");
        assert_eq!(message.spelled(Spelling::Keyword), "give max_rate or origins");
        assert_eq!(message.spelled(Spelling::Pointer), "give /max_rate or /from");
    }

    #[test]
    fn words_of_users_are_never_taken_for_fields() {
        let message = Message::from("'semi--detached' and --max-rate");
        assert_eq!(message.spelled(Spelling::Keyword), "'semi--detached' and --max-rate");
    }
}
