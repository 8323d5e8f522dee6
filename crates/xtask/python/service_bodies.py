"""Bodies that are no JSON, for Schemathesis: text or bytes that it makes up, as they are."""

import schemathesis


def _bytes(_context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


for _kind in ["application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"]:
    schemathesis.serializer(_kind)(_bytes)
