//! The Open Inference Protocol (KServe V2): scores for clients of model servers.

use super::{Answer, Path, Problem, Request, Router, Shared, States, model};
use crate::answer::{Call, Kindred};
use crate::body::Source;
use crate::media::Media;
use crate::models::Served;
use crate::state::State;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(super) fn register(router: Router<Arc<State>>) -> Router<Arc<State>> {
    router
        .route("/v2", get(server))
        .route("/v2/models/{name}", get(about))
        .route("/v2/models/{name}/ready", get(ready))
        .route("/v2/models/{name}/infer", post(infer))
}

async fn server() -> Answer {
    let version = env!("CARGO_PKG_VERSION");
    Ok(Json(json!({ "name": "probe", "version": version, "extensions": [] })).into_response())
}

async fn ready(Shared(state): States, Path(name): Path<String>) -> Answer {
    let served = model(&state, &name)?;
    Ok(Json(json!({ "name": served.name, "ready": true })).into_response())
}

async fn about(Shared(state): States, Path(name): Path<String>) -> Answer {
    let served = model(&state, &name)?;
    let input = |(name, is_category): (String, bool)| {
        let kind = if is_category { "BYTES" } else { "FP64" };
        json!({ "name": name, "datatype": kind, "shape": [-1] })
    };
    let inputs: Vec<Value> = features(&served).into_iter().map(input).collect();
    let about = json!({
        "name": served.name,
        "versions": [served.file.hash],
        "platform": "probe",
        "inputs": inputs,
        "outputs": [
            { "name": "margin", "datatype": "FP64", "shape": [-1] },
            { "name": "favourable", "datatype": "BOOL", "shape": [-1] },
        ],
    });
    Ok(Json(about).into_response())
}

/// Names of the features, and whether they are categories.
fn features(served: &Served) -> Vec<(String, bool)> {
    match served.schema.as_ref().or(served.file.schema.as_ref()) {
        Some(schema) => schema
            .features
            .iter()
            .map(|feature| (feature.name.clone(), !feature.categories.is_empty()))
            .collect(),
        None => served.file.features.iter().map(|name| (name.clone(), false)).collect(),
    }
}

/// A tensor of the protocol; further fields, such as parameters, are ignored.
#[derive(Debug, Deserialize)]
struct Tensor {
    name: String,
    shape: Vec<u64>,
    datatype: String,
    data: Value,
}

#[derive(Debug, Deserialize)]
struct Inference {
    #[serde(default)]
    id: Option<String>,
    inputs: Vec<Tensor>,
}

async fn infer(Shared(state): States, Path(name): Path<String>, request: Request) -> Answer {
    let (mut parts, body) = request.into_parts();
    let served = model(&state, &name)?;
    if Media::of_body(&parts.headers)? != Media::Json {
        let what = "the protocol's requests are application/json";
        return Err(Problem::new(axum::http::StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
    }
    Media::of_answer(&parts.headers, &[Media::Json], Media::Json)?;
    let config = &state.config;
    let source = Source::new(&parts.headers, body)?;
    let body = source.read_all(&parts.headers, config.max_body, config.body_timeout).await?;
    let place = state.pool.try_place()?;
    let (columns, limit) = (features(&served), config.max_people);
    let limit = limit.unwrap_or(crate::config::MOST_PEOPLE);
    let (id, people) = state.pool.run(place, move || people_of(&body, &columns, limit)).await?;
    for name in [axum::http::header::CONTENT_ENCODING, axum::http::header::CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    let call = Call {
        state: Arc::clone(&state),
        model: Arc::clone(&served),
        kind: Kindred::Score,
        query: None,
        headers: parts.headers,
        input: Media::Json,
        output: Media::Json,
    };
    let answer = call.answer(Body::from(people)).await?;
    let bytes = answer.into_body().collect().await.map_err(|_| Problem::fault())?.to_bytes();
    let answers: Value = serde_json::from_slice(&bytes).map_err(|_| Problem::fault())?;
    let column = |key: &str| -> Vec<&Value> {
        answers["answers"].as_array().into_iter().flatten().map(|row| &row[key]).collect()
    };
    let output = |name: &str, kind: &str| {
        let data = column(name);
        json!({ "name": name, "datatype": kind, "shape": [data.len()], "data": data })
    };
    let mut response = json!({
        "model_name": served.name,
        "model_version": served.file.hash,
        "outputs": [output("margin", "FP64"), output("favourable", "BOOL")],
    });
    if let Some(id) = id {
        response["id"] = json!(id);
    }
    Ok(Json(response).into_response())
}

/// The people of a request as the body of a question about scores: either one tensor per feature,
/// or a single tensor whose columns are the features in order.
fn people_of(
    body: &Bytes,
    columns: &[(String, bool)],
    limit: u64,
) -> Result<(Option<String>, Bytes), Problem> {
    let Inference { id, inputs } = serde_json::from_slice(body)
        .map_err(|error| Problem::bad(format!("the body is not as expected: {error}")))?;
    let mut tensors: Vec<(String, Vec<u64>, Vec<Value>)> = Vec::new();
    for tensor in inputs {
        let wrong =
            |what: String| Problem::field(&*tensor.name, format!("{}: {what}", tensor.name));
        let known = [
            "FP64", "FP32", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16",
            "UINT8", "BOOL", "BYTES",
        ];
        if !known.contains(&tensor.datatype.as_str()) {
            return Err(wrong(format!("datatype '{}' is not served", tensor.datatype)));
        }
        let mut data = Vec::new();
        flatten(&tensor.data, &mut data).map_err(&wrong)?;
        let size = tensor.shape.iter().try_fold(1_u64, |all, n| all.checked_mul(*n));
        if size != Some(data.len() as u64) {
            return Err(wrong(format!("shape {:?} and {} values", tensor.shape, data.len())));
        }
        tensors.push((tensor.name, tensor.shape, data));
    }
    let n = columns.len() as u64;
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    let single = matches!(&tensors[..], [(_, shape, _)] if shape.len() == 2 && shape[1] == n);
    let fits = |rows: u64| match rows <= limit {
        true => Ok(()),
        false => Err(Problem::field("inputs", format!("inputs: more than {limit} rows"))),
    };
    if let [(_, shape, data)] = &tensors[..]
        && single
        && n > 0
    {
        fits(shape[0])?;
        for row in data.chunks_exact(n as usize) {
            let names = columns.iter().map(|(name, _)| name.clone());
            rows.push(names.zip(row.iter().cloned()).collect());
        }
    } else {
        let count = tensors.first().map_or(0, |(_, _, data)| data.len());
        fits(count as u64)?;
        rows.resize(count, Map::new());
        for (name, shape, data) in tensors {
            if data.len() != count || shape.len() > 2 || shape.get(1).is_some_and(|n| *n != 1) {
                let what = format!("{name}: expected shape [{count}], found {shape:?}");
                return Err(Problem::field(name, what));
            }
            for (row, value) in rows.iter_mut().zip(data) {
                if row.insert(name.clone(), value).is_some() {
                    return Err(Problem::field(&*name, format!("{name}: given twice")));
                }
            }
        }
    }
    Ok((id, json!({ "people": rows }).to_string().into()))
}

/// The values of nested arrays, in order.
fn flatten(value: &Value, out: &mut Vec<Value>) -> Result<(), String> {
    match value {
        Value::Array(values) => values.iter().try_for_each(|value| flatten(value, out)),
        Value::Object(_) => Err("data: expected numbers, texts or arrays of them".to_owned()),
        value => {
            out.push(value.clone());
            Ok(())
        }
    }
}
