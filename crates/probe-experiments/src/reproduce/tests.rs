use super::*;

#[test]
fn experiments_are_found_by_name() {
    for entry in EXPERIMENTS {
        assert_eq!(experiment(entry.name).unwrap().name, entry.name);
    }
    let unknown = experiment("table9").err().map(|error| error.to_string());
    assert_eq!(unknown.as_deref(), Some("unknown experiment 'table9' (known: trees)"));
}

#[test]
fn the_figure_on_trees_repeats_and_tells_the_truth() {
    let make =
        |seed| experiment("trees").unwrap().item.make(&Inputs { data: None, seed: Seed(seed) }).unwrap();
    let made = make(0);
    assert_eq!(made, make(0));
    let (name, svg) = &made.files[0];
    assert_eq!(*name, "trees.svg");
    let document = roxmltree::Document::parse(svg).unwrap();
    // Identifiers are used once.
    let mut ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let n = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), n);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let number = |row: usize, column: usize| made.tables[0].rows[row][column].parse::<f64>().unwrap();
    // Of 500 denied people one is close to the border, and the recourses keep to r on what they were made for.
    assert!((number(0, 1) - 0.5).abs() < 0.05, "{:?}", made.tables);
    assert!(number(1, 1) <= 0.05 && number(2, 2) <= 0.05, "{:?}", made.tables);
}
