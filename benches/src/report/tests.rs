use super::*;

const TEMPLATE: &str = "p99 is {{ speed.p99 }}\n";

/// A root with a README and a picture.
fn scratch() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("docs")).unwrap();
    std::fs::write(folder.path().join("docs/picture.svg"), "<svg/>").unwrap();
    let [start, end] = readme::MARKS;
    std::fs::write(folder.path().join("README.md"), format!("# T\n{start}old\n{end}\n")).unwrap();
    folder
}

fn part(text: &str) -> Part {
    Part {
        id: "speed".to_owned(),
        command: "speed".to_owned(),
        document: "docs/x.md".to_owned(),
        title: Some("Speed".to_owned()),
        text: text.to_owned(),
        figures: [("p99".to_owned(), "1.2 ms".to_owned())].into(),
        pictures: vec!["docs/picture.svg".to_owned()],
    }
}

#[test]
fn what_is_published_is_what_documents_say() {
    let folder = scratch();
    let root = folder.path();
    publish_below(root, TEMPLATE, &part("fast\n")).unwrap();
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    assert!(read("README.md").contains("\np99 is 1.2 ms\n"), "{}", read("README.md"));
    assert_eq!(sections::find(&read("docs/x.md"), "Speed").map(str::trim), Some("fast"));
    assert_eq!(differences(root, TEMPLATE).unwrap(), Vec::<String>::new());
    // A figure that was not measured cannot be quoted.
    let error = publish_below(root, "{{ speed.p50 }}", &part("fast")).unwrap_err();
    assert!(format!("{error:#}").contains("was not measured"), "{error:#}");
}

#[test]
fn every_stale_place_is_named() {
    let cases = [
        ("docs/x.md", "fast", "faster", "docs/x.md, section 'Speed'"),
        ("docs/picture.svg", "svg", "SVG", "docs/picture.svg"),
        ("README.md", "1.2", "1.1", "README.md"),
    ];
    for (file, from, to, named) in cases {
        let folder = scratch();
        let root = folder.path();
        publish_below(root, TEMPLATE, &part("fast")).unwrap();
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        std::fs::write(root.join(file), text.replace(from, to)).unwrap();
        let wrong = differences(root, TEMPLATE).unwrap();
        assert!(wrong.len() == 1 && wrong[0].starts_with(named), "{wrong:?}");
    }
}

#[test]
fn documents_hold_the_figures_that_were_measured() {
    let wrong = differences(folders::root(), readme::TEMPLATE).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
